"""Settings and files."""
