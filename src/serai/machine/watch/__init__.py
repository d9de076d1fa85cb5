"""What changes on the disk: watches on folders and files, told in batches.

watching.watch     a watch, and all watches of a host together
watching.watcher   what several watches share: one source of changes
watching.source    what the systems' ways of telling have in common
watching.hub       how Linux tells it: one inotify instance and one thread for all that is watched
watching.tree      a folder in it, with the folders below
watching.folders   opening the folders to watch, through no link
watching.inotify   the instance itself
watching.portable  how other systems do, through watchfiles, with a thread for each folder
watching.changes   what several changes of one resource come to
watching.globs     which paths are meant
"""
