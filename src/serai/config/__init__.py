"""Serai's files, settings, trusted folders and keys."""
