"""The transcript of a conversation."""
