"""Agents that speak ACP, as agents of the host. Begin with `harness`, then `session`.

Nothing here asks for an agent's name: what differs between agents is in their handshakes, and in the
catalogue.
"""
