"""Agents that speak ACP, as agents of the host. Begin with `harness`, then `session`.

No code here depends on an agent's name: the differences between agents are in their handshakes and in the
catalogue.
"""
