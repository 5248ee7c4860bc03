"""Sessions on their way out and in: exports as JSONL, Markdown and HTML, imports of JSONL."""
