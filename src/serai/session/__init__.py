"""Agent sessions, pure: what is said in them, how a turn goes on, what it may cost, and what it becomes.

messages      the transcript, as it is kept
llm           what goes to a model and comes back
agent_file    an agent, as its file describes it
steps         the records of a turn
turn_core     from the records of a turn to what is to be done next
"""
