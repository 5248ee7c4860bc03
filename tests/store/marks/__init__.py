"""Pins, tags, archive."""
