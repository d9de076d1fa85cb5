"""One agent's process and the conversation with it; `connection` has all of it, until nothing is left."""
