"""Files for clients and agents: below allowed directories, and nowhere else.

    roots           below which directories files may be had, and how
    place           from a URI to a place on the disk that stays what it is
    threads         in which threads it is done, and who waits for whom
    content, writes, moves, listing
                    AHP's resource commands, one function each

All of it waits for the disk: call it in a thread, by `FileThreads.run`. Everything raises `ProtocolError`s
that can be answered as they are. Three rules hold throughout:

- What counts is where a name really leads; see `place`.
- Devices, pipes, sockets, `/proc` and its like, and names that are not UTF-8 are refused.
- A regular file with several names (hard links) is not read, written or copied, since one of the names may be
  outside and nothing tells. It can be listed, resolved, moved and deleted.
"""

from __future__ import annotations

from serai.machine.files.content import Content, open_content, read
from serai.machine.files.listing import list_directory, resolve
from serai.machine.files.moves import copy, delete, make_directory, move
from serai.machine.files.place import Place, find
from serai.machine.files.roots import Access, Root, Roots, wanted
from serai.machine.files.threads import FileThreads
from serai.machine.files.writes import write
from serai.uris import path_of, uri_of

__all__ = [
    "Access",
    "Content",
    "FileThreads",
    "Place",
    "Root",
    "Roots",
    "copy",
    "delete",
    "find",
    "list_directory",
    "make_directory",
    "move",
    "open_content",
    "path_of",
    "read",
    "resolve",
    "uri_of",
    "wanted",
    "write",
]
