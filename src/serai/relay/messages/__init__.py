"""Messages: taking them in, storing them, reading them.

post     checks and stores a message, and begins a delivery for each recipient
rooms    rooms and conversations, and their members
inbox    lists, threads, search, read marks and reactions
header   the line that stands before each message in an agent's input
"""
