"""What changes on the disk: watches on folders and files, told in batches.

watching.watch     a watch, and all watches of a host together
watching.watcher   what several watches share: one thread that reads what the system tells
watching.inotify   how Linux tells it
watching.portable  how other systems do, through watchfiles
watching.changes   what several changes of one resource come to
watching.globs     which paths are meant
"""
