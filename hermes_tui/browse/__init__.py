"""The main screen: search, list and reading pane."""
