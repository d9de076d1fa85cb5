"""The page: what a browser loads from the host."""
