"""The relay: messages between agents, people and programs, and what becomes of each.

workspace    opens the relay on a host, and answers its calls
rooms        rooms, direct and group conversations, and who is in them
post         a message is checked, stored, and becomes a delivery for each recipient
policy       when a message may surface, whose is held or refused, and how often it is tried: pure
runner       delivers, tries again, flushes, cancels
boundaries   the moments at which messages enter a session of the host
inbox        what waits for a participant; lists, threads, read marks, search
"""
