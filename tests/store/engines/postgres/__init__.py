"""Tests of what only PostgreSQL has."""
