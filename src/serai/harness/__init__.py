"""How a kind of agent gets on the host."""
