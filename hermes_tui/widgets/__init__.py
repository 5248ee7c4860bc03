"""Widgets of the browser. They know records, `render` and messages, and nothing of the store."""
