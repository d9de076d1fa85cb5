"""What a child may know of the host's environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["inheritable"]

_SECRET = re.compile(r"SERAI_.*(KEY|TOKEN|SECRET|PASSWORD).*")


def inheritable(environ: Mapping[str, str], hide: Iterable[str] = ()) -> dict[str, str]:
    """An environment without the host's own secrets: `SERAI_TOKEN`, `SERAI_DATABASE_KEY` and the like.

    Args:
        environ: The host's environment.
        hide: Names of further variables that stay out.
    """
    hidden = frozenset(hide)
    return {
        name: value for name, value in environ.items() if name not in hidden and not _SECRET.fullmatch(name)
    }
