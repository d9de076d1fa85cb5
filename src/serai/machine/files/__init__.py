"""Files for clients and agents: below allowed directories, and nowhere else.

    uris            `file:` URIs to paths and back
    roots           below which directories files may be had, and how
    grants          what a person has allowed, to whom and until when
    walk            from a URI to a place on the disk that stays what it is
    lanes           in which threads it is done: the short never waits for the long
    drafts          new content, put in its place as a whole
    leftovers       what a host that was killed has left of them
    reading, writing, copying, moving, deleting, directories, resolving
                    AHP's resource commands, one function each

All of it waits for the disk: call it in a thread, by `Lanes.run`. Everything raises `ProtocolError`s that can
be answered as they are. Three rules hold throughout:

- What counts is where a name really leads; see `walk`.
- Devices, pipes, sockets, `/proc` and its like, and names that are not UTF-8 are refused.
- A regular file with several names (hard links) is not read, written or copied, since one of the names may be
  outside and nothing tells. It can be listed, resolved, moved and deleted.
"""

from __future__ import annotations

from serai.machine.files.copying import copy
from serai.machine.files.deleting import delete
from serai.machine.files.directories import list_directory, make_directory
from serai.machine.files.grants import Grant, Grants, Holder, wanted
from serai.machine.files.lanes import Lanes
from serai.machine.files.leftovers import find_leftovers, remove_leftovers
from serai.machine.files.moving import move
from serai.machine.files.reading import Content, open_content, read
from serai.machine.files.resolving import resolve
from serai.machine.files.roots import Access, Root, Roots
from serai.machine.files.walk import Place, find
from serai.machine.files.writing import write
from serai.uris import path_of, uri_of

__all__ = [
    "Access",
    "Content",
    "Grant",
    "Grants",
    "Holder",
    "Lanes",
    "Place",
    "Root",
    "Roots",
    "copy",
    "delete",
    "find",
    "find_leftovers",
    "list_directory",
    "make_directory",
    "move",
    "open_content",
    "path_of",
    "read",
    "remove_leftovers",
    "resolve",
    "uri_of",
    "wanted",
    "write",
]
