"""Sessions and their turns, between the people on one side and the agents on the other."""
