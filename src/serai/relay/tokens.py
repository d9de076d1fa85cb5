"""RelayTokens of the relay: for one participant, for an observer, or for a device of the owner.

The owner's own token comes from the host. A token is `srt_` and 43 characters, so that the redactor finds it
anywhere. Only its digest is stored.

A device gets its token for a code. A code works once, and for ten minutes only, because it may be seen: in a
link, in a picture on a screen, in a list of processes. Codes do not outlive the host.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from serai import contract as c
from serai.errors import InvalidParams, LinkSpent
from serai.host.identities import Participant
from serai.relay import WorkspacePart
from serai.store.contract import RelayWrite

if TYPE_CHECKING:
    from serai.relay.links import HostEnd
    from serai.relay.workspace import Workspace

_CODE_LASTS = timedelta(minutes=10)
_LONGEST_NAME = 80
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


class Caller(NamedTuple):
    """The caller of the relay: its role, and the participant that it speaks for."""

    role: c.Role
    participant: Participant | None = None
    link: HostEnd | None = None
    """The connection over which the caller can be asked; `None` for what is posted."""

    @property
    def sees_all(self) -> bool:
        """True if every conversation exists for this caller."""
        return self.role in {c.Role.OWNER, c.Role.RESPONDER}

    @property
    def only_reads(self) -> bool:
        """True if this caller only reads."""
        return self.role in {c.Role.OBSERVER, c.Role.RESPONDER}


def digest(token: str) -> str:
    """Return the digest of a token, which is all that is stored: SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def new_code() -> str:
    """Return a code that nobody guesses: 128 bits."""
    return secrets.token_urlsafe(16)


class _KeptToken(c.Record):
    info: c.TokenInfo
    agent: int | None = None


class _Link(NamedTuple):
    role: c.Role
    name: str
    expires_at: datetime


class RelayTokens(WorkspacePart):
    """The tokens of a workspace, and their holders."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._kept: dict[str, _KeptToken] = {}
        self._passing: dict[str, int] = {}
        self._lent: dict[int, str] = {}
        self._links: dict[str, _Link] = {}
        self.revoked: Callable[[str], object] = lambda _digest: None
        """Function that is called with the digest of each token that is revoked."""

    async def open(self) -> None:
        """Read all tokens."""
        for found, data in await self._store.relay("tokens"):
            self._kept[found] = c.decode(data, _KeptToken)

    def caller(self, token_digest: str) -> Caller | None:
        """Return the holder of a token; `None` for an unknown token."""
        if token_digest in self._passing:
            agent = self._identities[self._passing[token_digest]]
            return None if agent.gone else Caller(c.Role.AGENT, agent)
        kept = self._kept.get(token_digest)
        if kept is None:
            return None
        return Caller(kept.info.role, None if kept.agent is None else self._identities[kept.agent])

    def role_of(self, token_digest: str) -> c.Role | None:
        """Return the role of a token's holder; `None` for an unknown token."""
        caller = self.caller(token_digest)
        return None if caller is None else caller.role

    def create(self, _caller: Caller, params: c.TokenCreateParams) -> c.TokenResult:
        """Make a token for a participant, perhaps a new one, or for an observer."""
        name = params.agent.removeprefix("@") if params.agent is not None else None
        agent = None
        if name is not None:
            agent = self._identities.find(f"@{name}") or self._identities.enlist(name, params.kind)
        token, info = self._create(agent, params.label)
        return c.TokenResult(token=token, info=info)

    def _create(
        self, agent: Participant | None, label: str, role: c.Role = c.Role.OBSERVER
    ) -> tuple[str, c.TokenInfo]:
        token = f"srt_{secrets.token_urlsafe(32)}"
        found = digest(token)
        info = c.TokenInfo(
            id=found[:12],
            role=c.Role.AGENT if agent else role,
            agent=agent.handle if agent else None,
            label=label,
            created_at=self._ledger.now,
        )
        self._put(found, _KeptToken(info=info, agent=agent.number if agent else None), revoked=False)
        return token, info

    def link(
        self, _caller: Caller, params: c.DeviceLinkParams, code: str | None = None
    ) -> c.DeviceLinkResult:
        """Make a link: a code, by default a new one, that gives one device a token.

        Raises:
            InvalidParams: No device has such a role.
        """
        if params.role not in {c.Role.OWNER, c.Role.RESPONDER}:
            what = f"a device is an owner's or a responder's, not {params.role}"
            raise InvalidParams(what, field="params.role")
        code = code or new_code()
        link = _Link(params.role, _name_of(params.name or ""), self._ledger.now + _CODE_LASTS)
        self._links[digest(code)] = link
        return c.DeviceLinkResult(code=code, expires_at=link.expires_at)

    def redeem(self, code: str, name: str = "", has: str = "") -> tuple[str, c.TokenInfo]:
        """Return the token of a device, for its code. The device's own name counts if the link has none.

        A device that `has` a token which lets it do as much keeps it: one browser is one device.

        Raises:
            LinkSpent: The code was never made, has been used, or is too old.
        """
        link = self._links.pop(digest(code), None)
        if link is None or link.expires_at < self._ledger.now:
            raise LinkSpent(
                "this link was used, or is older than ten minutes",
                remedy="Make a new one: run 'serai', or 'serai pair' for a phone",
            )
        kept = self._kept.get(digest(has))
        if kept is not None and not link.name and kept.info.role in {link.role, c.Role.OWNER}:
            return has, kept.info
        return self._create(None, link.name or _name_of(name) or "a device", link.role)

    def token_for(self, agent: Participant) -> str:
        """Return the token for the agent of a session. It lasts as long as this host and the session.

        It is written nowhere.
        """
        if (lent := self._lent.get(agent.number)) is not None:
            return lent
        token = self._lent[agent.number] = f"srt_{secrets.token_urlsafe(32)}"
        self._passing[digest(token)] = agent.number
        return token

    def list(self, _caller: Caller, _params: c.Empty) -> c.TokensResult:
        """List all tokens that are not revoked."""
        return c.TokensResult(tokens=tuple(kept.info for kept in self._kept.values()))

    def revoke(self, _caller: Caller, params: c.IdParams) -> c.Empty:
        """Revoke a token.

        Raises:
            InvalidParams: There is no such token.
        """
        for found, kept in list(self._kept.items()):
            if kept.info.id == params.id:
                del self._kept[found]
                self._put(found, kept, revoked=True)
                self.revoked(found)
                return c.Empty()
        raise InvalidParams(f"there is no token {params.id!r}", field="id")

    def _put(self, found: str, kept: _KeptToken, *, revoked: bool) -> None:
        if not revoked:
            self._kept[found] = kept
        event = "token.revoked" if revoked else "token.created"
        write = RelayWrite("put_token", (found, c.encode(kept), revoked))
        self._ledger.event(event, {"id": kept.info.id, "role": kept.info.role.value}, writes=[write])


def _name_of(text: str) -> str:
    """Return a name on one line, for a list."""
    return " ".join(_UNSEEN.sub(" ", text).split())[:_LONGEST_NAME]
