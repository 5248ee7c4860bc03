"""The chat: its screen, the turn loop and the model."""
