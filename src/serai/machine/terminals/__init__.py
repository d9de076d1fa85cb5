"""Terminals: a real pty each, read in batches, with the commands of the shell recognised."""
