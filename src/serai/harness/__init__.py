"""The kinds of agents, and how each gets on the host."""
