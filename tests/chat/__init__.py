"""The chat's side of the model, over real HTTP on the loopback address."""
