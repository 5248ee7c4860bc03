"""SQLite files: schema, migrations, indexes, locks, crashes."""
