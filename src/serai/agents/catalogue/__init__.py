"""The known agents, where they are installed, and what they can do."""
