"""Storage: one contract, and databases that keep it."""
