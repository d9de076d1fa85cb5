"""Events of the workspace, and of what its sessions do.

stream           all events in their order, live and replayed
observer         watches the sessions of the host while someone listens
session_events   a session's actions as session events
webhooks         posts events to URLs
"""
