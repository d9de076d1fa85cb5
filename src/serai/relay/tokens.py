"""Tokens of the relay: the owner's own comes from the host; these are for one participant, or to look on.

A token looks like `srt_` and 43 signs, so that the redactor knows one wherever it turns up. Only its digest
is kept.
"""

from __future__ import annotations

import hashlib
import secrets

from serai.contract import Record, Role, TokenInfo, decode, encode
from serai.errors import InvalidParams
from serai.host.identities import Identities, Participant
from serai.host.ledger import Ledger
from serai.relay.inbox import Caller
from serai.store.contract import RelayWrite

__all__ = ["Tokens", "digest"]


def digest(token: str) -> str:
    """What is kept of a token: SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class _KeptToken(Record):
    info: TokenInfo
    agent: int | None = None


class Tokens:
    """Who holds which token.

    Args:
        ledger: Where they are written down.
        identities: Who takes part.
    """

    def __init__(self, ledger: Ledger, identities: Identities) -> None:
        self._ledger = ledger
        self._identities = identities
        self._kept: dict[str, _KeptToken] = {}
        self._passing: dict[str, int] = {}
        self._lent: dict[int, str] = {}

    async def open(self) -> None:
        """Read them."""
        for found, data in await self._ledger.store.relay("tokens"):
            self._kept[found] = decode(data, _KeptToken)

    def caller(self, token_digest: str) -> Caller | None:
        """Whose token it is; `None` for one that nobody knows."""
        if token_digest in self._passing:
            agent = self._identities[self._passing[token_digest]]
            return None if agent.gone else Caller(Role.AGENT, agent)
        kept = self._kept.get(token_digest)
        if kept is None:
            return None
        return Caller(kept.info.role, None if kept.agent is None else self._identities[kept.agent])

    def create(self, agent: Participant | None, label: str) -> tuple[str, TokenInfo]:
        """Make a token for a participant; without one, for someone who only looks on."""
        token = f"srt_{secrets.token_urlsafe(32)}"
        found = digest(token)
        info = TokenInfo(
            id=found[:12],
            role=Role.AGENT if agent else Role.OBSERVER,
            agent=agent.handle if agent else None,
            label=label,
            created_at=self._ledger.now,
        )
        self._put(found, _KeptToken(info=info, agent=agent.number if agent else None), revoked=False)
        return token, info

    def lend(self, agent: Participant) -> str:
        """The token for the agent of a session, as long as this host and the session are there.

        It is written nowhere.
        """
        if (lent := self._lent.get(agent.number)) is not None:
            return lent
        token = self._lent[agent.number] = f"srt_{secrets.token_urlsafe(32)}"
        self._passing[digest(token)] = agent.number
        return token

    def list(self) -> tuple[TokenInfo, ...]:
        """All tokens that are not revoked."""
        return tuple(kept.info for kept in self._kept.values())

    def revoke(self, token_id: str) -> None:
        """A token opens nothing any more.

        Raises:
            InvalidParams: There is no such token.
        """
        for found, kept in list(self._kept.items()):
            if kept.info.id == token_id:
                del self._kept[found]
                self._put(found, kept, revoked=True)
                return
        raise InvalidParams(f"there is no token {token_id!r}", field="id")

    def _put(self, found: str, kept: _KeptToken, *, revoked: bool) -> None:
        if not revoked:
            self._kept[found] = kept
        event = "token.revoked" if revoked else "token.created"
        write = RelayWrite("put_token", (found, encode(kept), revoked))
        self._ledger.event(event, {"id": kept.info.id, "role": kept.info.role.value}, writes=[write])
