"""A session's changesets: the changes in its folder, as channels.

changesets          all sessions' changesets as channels: opening, reading content, operations
session_changes     one session: looking, the list of its changesets, their followers
bases               one session: records its folder when the session, and each turn, begins
folder_watch        notices that something may have changed, or that the folder is another one
"""
