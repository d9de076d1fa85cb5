"""One session of the host: its state, its turns, and what enters it."""
