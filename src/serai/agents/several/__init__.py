"""Several agents for one question."""
