"""The demo: its conversations, its model, and the examples of the documents in it."""
