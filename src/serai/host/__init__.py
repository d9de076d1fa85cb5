"""Sessions and turns: what happens between the people on one side and the agents on the other."""
