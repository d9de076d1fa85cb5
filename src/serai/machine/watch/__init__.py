"""What changes on the disk: watches on folders and files, told in batches.

watch.py     a watch, and all watches of a host together
globs.py     which paths are meant
pending.py   what several changes of one resource come to
events.py    what the systems' ways of telling have in common, and what keeps a watch from being made
inotify.py   how Linux tells it: one instance and one thread for all that is watched
portable.py  how other systems do, through watchfiles, with a thread for each folder
"""
