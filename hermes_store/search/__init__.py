"""Searching messages: the query language, planning and running a search."""
