"""The `hermes` command and the full-screen browser."""
