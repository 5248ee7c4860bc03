"""Sessions, their messages and titles, and how they descend from each other."""
