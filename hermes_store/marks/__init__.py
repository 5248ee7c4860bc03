"""Pins, tags, archived conversations and saved searches."""
