"""Taking secrets out of what agents log, for programs that have no redactor of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["make_mask"]

_MASK = "[redacted]"
_SHORTEST = 8
_NAME = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|CREDENTIALS?|(?:^|_)(?:KEY|PAT))$", re.IGNORECASE
)
_SHAPES = re.compile(
    r"""
    \b(?:Bearer|Token|Basic)\s+(?P<bearer>[A-Za-z0-9._~+/=-]{8,})      # what follows in a header
  | (?P<known>
        \bsk-[A-Za-z0-9_-]{16,}                                       # keys of models
      | \bxox[a-z]-[A-Za-z0-9-]{10,}
      | \b(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{16,}
      | \bAKIA[A-Z0-9]{16}\b
      | \bAIza[A-Za-z0-9_-]{30,}
      | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*      # JSON web tokens
    )
  | (?:password|passwd|secret|token|api[_-]?key|auth)["']?\s*[=:]\s*["']?(?P<named>[^\s"',;&]{8,})
    """,
    re.VERBOSE | re.IGNORECASE,
)


def make_mask(environ: Mapping[str, str]) -> Callable[[str], str]:
    """A function that takes secrets out of text: values of variables that are secrets, and known shapes.

    Args:
        environ: All variables that the agent has.
    """
    values = sorted(
        {value for name, value in environ.items() if _NAME.search(name) and len(value) >= _SHORTEST},
        key=len,
        reverse=True,  # one may be the beginning of another
    )
    known = re.compile("|".join(map(re.escape, values))) if values else None

    def mask(text: str) -> str:
        if known is not None:
            text = known.sub(_MASK, text)
        return _SHAPES.sub(_masked, text)

    return mask


def _masked(match: re.Match[str]) -> str:
    secret = next(value for value in match.groups() if value is not None)
    return match[0].replace(secret, _MASK)
