"""A whole conversation to read."""
