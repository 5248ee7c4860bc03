"""Deleting and restoring."""
