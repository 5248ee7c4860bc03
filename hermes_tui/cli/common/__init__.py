"""Code shared by the verbs of the command line."""
