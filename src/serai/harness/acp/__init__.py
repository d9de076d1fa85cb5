"""Agents that speak ACP, as agents of the host.

    harness       one kind of agent, and the agents that are installed here
    session       the agent of one session: its process comes and goes, the session stays
    link          which session of the agent is wanted, and what is done once it is open
    turn          one turn: what the agent tells becomes actions
    tool_calls    its tool calls become AHP's, and a person is asked whether they may run
    client        what the agent asks: permissions, files, terminals, questions to the person
    settings      model, mode and options, on both sides the same
    login         whether a person has to sign in, and how
    notices       what people are told beside the answers
    capabilities, content, forms, records      pure: from AHP to ACP and back

Nothing here asks for an agent's name: what differs between agents is in their handshakes, and in the
catalogue.
"""
