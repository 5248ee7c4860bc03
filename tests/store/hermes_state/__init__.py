"""Tests of the names of Hermes Agent."""
