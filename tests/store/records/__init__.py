"""Records and the text in them."""
