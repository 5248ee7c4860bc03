"""Pruning, statistics, optimizing, checking and repairing."""
