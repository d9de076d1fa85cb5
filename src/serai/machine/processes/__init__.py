"""The processes that the host starts: each in a session of its own, written down, and never left behind."""
