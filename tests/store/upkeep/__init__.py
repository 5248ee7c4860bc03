"""Pruning, statistics, optimizing."""
