"""Generic widgets. They know records, presentation and messages, but not the store."""
