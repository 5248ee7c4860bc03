"""Where sessions are stored: one folder for each kind of database."""
