"""Search on PostgreSQL: its own look-ups and tests, the same language and the same promise."""
