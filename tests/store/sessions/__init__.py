"""Sessions, messages, titles, lineage."""
