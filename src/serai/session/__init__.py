"""Agent sessions, pure: what is said in them, how a turn goes on, what it may cost, and what it becomes.

messages      the transcript, as it is kept; what goes to a model and comes back
transcript    its turns, which of them were completed, and what a model sees of them
ahp_turns     a transcript from the turns that AHP shows
agent_file    an agent, as its file describes it, and what a session leaves of it
turn_core     the records of a turn, and from them to what is to be done next
yaml          documents: read with their lines, written in one way
workflow      agents one after the other, as a file describes them, or as a session is exported
diagram       a workflow as a picture
events        what is told of a session while it goes on
"""
