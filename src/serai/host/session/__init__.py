"""One session of the host: its state, its turns, and its deliveries."""
