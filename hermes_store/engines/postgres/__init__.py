"""The engine for PostgreSQL: one history for many machines."""
