"""Every frozen record that crosses the boundary of the store, by topic."""
