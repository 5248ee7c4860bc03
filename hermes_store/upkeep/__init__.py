"""Pruning, statistics, optimising, checking and repairing."""
