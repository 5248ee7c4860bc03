"""The built-in chat: its screen, turn loop and model client."""
