"""The command line, one module per verb. Textual is imported only to open a screen."""
