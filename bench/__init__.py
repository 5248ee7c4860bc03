"""Benchmarks side by side with the real hermes-agent. Run with `make bench`."""
