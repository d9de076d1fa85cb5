"""Names of what the host has for a moment only: beside a file that it writes, and in its private folder."""

from __future__ import annotations

import re
import secrets

__all__ = ["NOT_DRAFTS", "RUN", "is_draft", "name_of_nobody"]

RUN = secrets.token_hex(8)
"""What a host, that is to say this process, knows its own by: those are of what goes on now."""

_DRAFT = re.compile(rb"\.serai-[0-9a-f]{16}(?:\.tmp)?")
_SIXTEEN = "[0-9a-f]" * 16
NOT_DRAFTS = tuple(f"--exclude=.serai-{_SIXTEEN}{end}" for end in ("", ".tmp"))
"""What keeps `ls-files` from naming them; those that end so are of files that clients write."""


def name_of_nobody() -> str:
    """A name that nothing has."""
    return f".serai-{secrets.token_hex(8)}"


def is_draft(name: bytes) -> bool:
    """Whether a name is of a draft, or of a file that was moved aside, by this host or any other."""
    return name.startswith(b".serai-") and _DRAFT.fullmatch(name) is not None
