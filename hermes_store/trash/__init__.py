"""Deleting and restoring conversations."""
