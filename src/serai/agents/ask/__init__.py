"""One question to one agent, or one conversation with it."""
