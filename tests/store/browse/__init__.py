"""Lists and transcripts."""
