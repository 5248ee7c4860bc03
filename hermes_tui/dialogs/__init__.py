"""Dialogs: rename, delete, prune, export, trash, settings and more."""
