"""Terminals: a real pty each, read in batches, with the shell's commands told apart."""
