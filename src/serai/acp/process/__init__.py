"""The agent's process and the conversation with it, below sessions.

connection    from the start until nothing of it is left
peer          requests and answers, in their order
stream        updates on their way to whoever follows a session
failures      what an agent's error means
pipes, stderr, mask
"""
