"""Delivery: which queue a message waits in, when it leaves it, and what its receipt says.

runner          begins deliveries, tries them again, gives them up, waits for their outcome
policy          the rules: who may interrupt, how often, how often a delivery is tried again
queue           what all queues have in common, and the queue of those who fetch
session_queue   messages that wait until a session of this host is idle, and then enter it
adapter_queue   messages for sessions elsewhere
"""
