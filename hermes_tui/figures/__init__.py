"""The figures screen."""
