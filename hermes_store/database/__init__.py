"""The SQLite half of the store: schema, migrations, connections, checkpoints.

Everything that is SQLite's own (pragmas, WAL, FTS5) stays in here and in `search`.
"""
