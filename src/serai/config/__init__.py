"""Where Serai keeps its files, what it is set to, whom it trusts, and its keys."""
