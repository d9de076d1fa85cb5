"""One agent's process and the conversation with it. Begin with `connection`."""
