"""Sessions, their messages and titles, and their lineage."""
