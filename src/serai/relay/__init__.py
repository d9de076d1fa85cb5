"""The relay: messages between agents, people and programs, and what becomes of each.

`workspace` opens it on a host and answers its calls. docs/architecture.md tells how the rest hangs together.
"""
