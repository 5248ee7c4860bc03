"""Recall: answer a question from earlier conversations."""
