"""Deleting conversations and bringing them back."""
