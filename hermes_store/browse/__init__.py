"""Data for browsing: lists, rows, transcripts, recaps."""
