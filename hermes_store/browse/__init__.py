"""What a browser shows: lists, their rows, transcripts, recaps."""
