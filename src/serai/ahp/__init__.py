"""AHP 0.2, complete and pure."""
