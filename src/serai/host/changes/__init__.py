"""A session's changesets: what changed in its folder, as channels.

changesets          all sessions' changesets: opening, reading content, operations
changing            one session: when to look, what is listed, who follows
bases               one session: what its folder was like when it, and each turn, began
changeset_channel   one changeset that is followed
folder_watch        hearing that something may have changed, or is another folder
seen                what there is of the folder now
shown               which folder was shown last
edit                a block that may change files
"""
