"""Realistic made-up sessions, for the demo, the tests and the benchmarks."""
