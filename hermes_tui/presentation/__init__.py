"""From records to text and styled lines, for the command line and the screens."""
