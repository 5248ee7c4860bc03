"""Finding messages: the query language, the plan for a file, and running it."""
