"""A long campaign of harm against real homes; `python -m tests.campaign --help` explains it."""
