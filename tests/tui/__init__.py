"""Tests of the browser, without a terminal."""
