"""SQLite: schema, migrations, full-text indexes, and the files beside the database."""
