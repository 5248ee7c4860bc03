"""The one place that holds the version of both distributions."""

__version__ = "0.1.0"
