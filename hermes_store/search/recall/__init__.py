"""Recall: what earlier conversations say about a question."""
