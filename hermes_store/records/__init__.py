"""The frozen records that the store accepts and returns, by topic."""
