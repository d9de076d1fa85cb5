"""The commands of the relay: messages, rooms, deliveries, events, tokens."""
