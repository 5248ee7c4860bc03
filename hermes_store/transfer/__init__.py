"""Exports as JSONL, Markdown and HTML, and imports of JSONL."""
