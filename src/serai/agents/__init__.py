"""Agents that speak ACP: which there are, where they are, and how they are started."""
