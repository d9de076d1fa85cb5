"""Agents that speak ACP, as agents of the host.

    harness       one kind of agent, installed on this machine
    session       the agent of one session: its process comes and goes, the session stays
    opening       how the agent's own session is begun, resumed, loaded, forked or made anew
    work          one turn: what the agent tells becomes actions
    calls         its tool calls, and whether they may run
    choosing      model, mode and options, on both sides the same
    answering     what the agent asks: permissions, files, terminals, questions to the person
    signing_in    whether a person has to sign in, and how
    installed     which agents there are, looked for in the background

    prompting, contents, choices, forms, declared, kept, retelling      pure: from AHP to ACP and back

Nothing here asks for an agent's name: what differs between agents is in their handshakes, and in the
catalogue.
"""
