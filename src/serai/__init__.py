"""Serai: an inn for AI agents, where sessions live and people and programs meet them."""

__version__ = "0.1.0"
