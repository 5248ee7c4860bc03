"""The demo: sample sessions and a scripted model."""
