"""SQLite: files, schema, migrations, full-text indexes, the files beside the database."""
