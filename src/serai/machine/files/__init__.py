"""Files for clients and agents: below allowed directories, and nowhere else.

    roots           the directories that may be read or written
    place           finds the place on the disk that a URI leads to
    threads         the threads that wait for the disk, and locks
    content, writes, moves, listing
                    AHP's resource commands, one function each

All functions wait for the disk: call them in a thread, with `FileThreads.run`. They raise `ProtocolError`s
that can be sent as answers. Three rules hold throughout:

- Access is judged by where a name really leads; see `place`.
- Devices, pipes, sockets, `/proc` and its like, and names that are not UTF-8 are refused.
- A regular file with several names (hard links) is not read, written or copied, since one of the names may be
  outside, and nothing tells. It can be listed, resolved, moved and deleted.
"""

from __future__ import annotations

from serai.machine.files.content import Content as Content, open_content as open_content, read as read
from serai.machine.files.listing import list_directory as list_directory, resolve as resolve
from serai.machine.files.moves import (
    copy as copy,
    delete as delete,
    make_directory as make_directory,
    move as move,
)
from serai.machine.files.place import Place as Place, find as find
from serai.machine.files.roots import FileRoot as FileRoot, Roots as Roots, requested_root as requested_root
from serai.machine.files.threads import FileThreads as FileThreads
from serai.machine.files.writes import write as write
from serai.uris import path_of as path_of, uri_of as uri_of
