"""Agent sessions, pure: their messages, the steps of a turn, agent files and workflows.

messages      the stored messages, and the requests and answers of models
transcript    turns: which were completed, and what a model sees of them
ahp_turns     a transcript made of the turns that AHP shows
agent_file    an agent, as its file describes it, and its restrictions in a session
turn_core     the records of a turn, and its next step
yaml          documents: read with their lines, written in one way
workflow      agents one after the other, read from a file or made of a session
diagram       a workflow as a picture
events        the events of a session
"""
