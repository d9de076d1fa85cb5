"""The participants: each session of the host, its owner, and others that register, each under one name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from serai.contract import (
    AgentIdentity,
    AgentSessionCapabilities,
    IdentityKind,
    Record,
    decode,
    encode,
    handle_of,
    name_key,
    to_wire,
)
from serai.errors import NameTaken, UnknownTarget
from serai.host.ledger import Ledger
from serai.store.contract import RelayWrite

_NAMED = 12
"""Most participants that an error names."""


class Participant(Record):
    """An identity, and the session, address and state behind it."""

    number: int = 0
    identity: AgentIdentity
    session: str | None = None
    """The session of this host whose agent it is."""
    capabilities: AgentSessionCapabilities | None = None
    """The capabilities that a session elsewhere has declared. Those of a session here are its agent's."""
    url: str | None = None
    """The address to which its messages are posted."""
    secret: str | None = None
    """The secret that signs those messages."""
    lease_seconds: float | None = None
    """Longest time for an answer of a session elsewhere, in seconds; by default the policy's."""
    gone: bool = False
    """True once its session was disposed of: nothing reaches it any more."""

    @property
    def handle(self) -> str:
        """Its name in text and in addresses."""
        return self.identity.handle

    @property
    def is_person(self) -> bool:
        """True for a person."""
        return self.identity.kind == IdentityKind.HUMAN


class Identities:
    """All present and former participants. They are few, so all of them are in memory."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_number: dict[int, Participant] = {}
        self._by_name: dict[str, int] = {}
        self._by_id: dict[str, int] = {}
        self._by_session: dict[str, int] = {}

    async def open(self, sessions: Iterable[tuple[str, str]]) -> None:
        """Read the participants, and give a name to each session that has none yet.

        Args:
            sessions: All sessions of the host, each with its provider.
        """
        for number, session, gone, data in await self._ledger.store.relay("identities"):
            kept = decode(data, Participant)
            self._keep(replace(kept, number=number, session=session, gone=bool(gone)))
        for uri, provider in sessions:
            self.of_session(uri, provider)

    def __iter__(self) -> Iterator[Participant]:
        return iter(list(self._by_number.values()))

    # -- finding -------------------------------------------------------------------------------------------

    def __getitem__(self, number: int) -> Participant:
        return self._by_number[number]

    def of_session(self, uri: str, provider: str = "agent") -> Participant:
        """Return the participant of a session, named after its kind of agent where it has no name yet."""
        number = self._by_session.get(uri)
        if number is None:
            return self.enlist(self.free_name(provider), IdentityKind.AGENT, session=uri)
        return self._by_number[number]

    def find(self, name: str) -> Participant | None:
        """Find a participant by id, handle or name. A name may look like an id; a handle never does."""
        number = self._by_id.get(name) or self._by_name.get(name_key(name.removeprefix("@")))
        return None if number is None else self._by_number[number]

    def get(self, name: str) -> Participant:
        """Return a participant by handle, name or id.

        Raises:
            UnknownTarget: There is none.
        """
        found = self.find(name)
        if found is None:
            there = [one.handle for one in self if not one.gone]
            more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
            remedy = f"There are: {', '.join(there[:_NAMED])}{more}"
            raise UnknownTarget(f"nobody is called {name!r}", remedy=remedy)
        return found

    # -- coming and going ----------------------------------------------------------------------------------

    def free_name(self, wanted: str) -> str:
        """Return a free name: the wanted one, or with a number behind it."""
        if _key(wanted) not in self._by_name:
            return wanted
        number = 2
        while _key(f"{wanted}-{number}") in self._by_name:
            number += 1
        return f"{wanted}-{number}"

    def enlist(
        self,
        name: str,
        kind: IdentityKind,
        *,
        session: str | None = None,
        described: AgentIdentity | None = None,
    ) -> Participant:
        """Register a participant under a name.

        Args:
            name: The name.
            kind: The kind of participant.
            session: The session of this host behind it.
            described: Other known details.

        Raises:
            NameTaken: Another participant has that name.
        """
        if _key(name) in self._by_name:
            raise NameTaken(f"someone is called {name!r} already", remedy="Choose another name")
        number = max(self._by_number, default=0) + 1
        given = described or AgentIdentity(id="", name=name, handle="")
        identity = replace(given, id=f"{kind.value}-{number}", name=name, handle=handle_of(name), kind=kind)
        participant = Participant(number=number, identity=identity, session=session)
        self.put(participant, "agent.registered")
        return participant

    def retire(self, uri: str) -> Participant | None:
        """Retire the participant of a session. Nothing reaches it any more; its messages stay."""
        number = self._by_session.get(uri)
        if number is None:
            return None
        gone = replace(self._by_number[number], gone=True)
        self.put(gone, "agent.status.releasing")
        return gone

    def released(self, uri: str) -> None:
        """Report that a retired session is gone, and its agent with it."""
        number = self._by_session.get(uri)
        if number is not None:
            identity = self._by_number[number].identity
            data = {"agent": to_wire(identity), "sessionId": uri}
            self._ledger.event("session.released", data, subject=identity.id)

    def put(self, participant: Participant, event: str) -> None:
        """Record a participant, and publish the event."""
        self._keep(participant)
        identity = participant.identity
        number, session, gone = participant.number, participant.session, participant.gone
        # What has a column stands there alone: a session that is erased is named nowhere then.
        rest = replace(participant, number=0, session=None, gone=False)
        values = (number, identity.id, _key(identity.name), session, gone, encode(rest))
        data = {"agent": to_wire(identity)}
        self._ledger.event(event, data, subject=identity.id, writes=[RelayWrite("put_identity", values)])

    def _keep(self, participant: Participant) -> None:
        self._by_number[participant.number] = participant
        self._by_name[_key(participant.identity.name)] = participant.number
        self._by_id[participant.identity.id] = participant.number
        if participant.session is not None:
            self._by_session[participant.session] = participant.number


def _key(name: str) -> str:
    """Return the key of a name, as a handle writes it: `a b` and `a-b` would be one handle."""
    return name_key(handle_of(name).removeprefix("@"))
