"""The processes that the host starts: each in a session of its own, and never left behind."""
