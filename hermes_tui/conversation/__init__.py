"""The chat: talking to a model, keeping what is said, naming and compressing conversations.

Runs in worker threads and knows no screen.
"""
