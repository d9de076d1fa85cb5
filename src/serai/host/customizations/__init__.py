"""A session's customisations: what people and clients have prepared for its agent.

session.py  one session: what is shown, and switched on and off
folders.py  one folder: found once for all sessions in it, and again while someone follows
plugins.py  plugins of the active client, fetched from it
"""
