"""A session's changesets: what changed in its folder, as channels.

changesets          all sessions' changesets: opening, reading content, operations
session_changes     one session: when to look, what is listed, who follows
bases               one session: records what its folder was like when it, and each turn, began
changeset_channel   one changeset that is followed
folder_watch        hears that something may have changed, or is another folder
"""
