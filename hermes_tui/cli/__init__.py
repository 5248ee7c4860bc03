"""The command line: one module for each verb. Textual is imported only to open a screen."""
