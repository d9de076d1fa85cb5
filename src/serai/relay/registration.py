"""Takes sessions elsewhere in: what they have to declare, and under which name they take part."""

from __future__ import annotations

import secrets
from typing import Any

from msgspec.structs import asdict, replace

from serai import contract as c
from serai.errors import CapabilityUnsupported, Forbidden, InvalidParams, NameTaken
from serai.host.identities import Identities, Participant
from serai.relay.inbox import Caller
from serai.relay.policy import RelayPolicy
from serai.relay.signed_post import check_url

__all__ = ["register"]

_LONGEST_LEASE = 3600.0
_QUEUED = frozenset({c.DeliveryMode.NEXT_TOOL_CALL, c.DeliveryMode.NEXT_MESSAGE})
"""Boundaries that only the session itself knows."""


def register(
    identities: Identities,
    caller: Caller,
    params: c.RegisterParams,
    policy: RelayPolicy,
) -> tuple[Participant, c.RegisterResult]:
    """Take a session elsewhere in, or again under the name that it has.

    Raises:
        CapabilityUnsupported: It declares too little.
        NameTaken: Someone else has the name, or, if it is strict, anyone.
        Forbidden: A token of a participant is only for that participant, and names no URL.
        InvalidParams: The name, the lease or the URL cannot be used.
    """
    given, declared = params.identity, params.capabilities
    name = given.name.strip().removeprefix("@")
    _check_capabilities(declared, name)
    if not name or c.handle_of(name) == "@":
        raise InvalidParams("a session needs a name", field="params.identity.name")
    _check_ways(params, caller)
    if given.kind not in {c.IdentityKind.AGENT, c.IdentityKind.SERVICE}:
        raise Forbidden(f"a session cannot register as {given.kind.value}", remedy="Register as an agent")
    known = identities.find(c.handle_of(name))
    number = caller.participant.number if caller.participant is not None else None
    if caller.role != c.Role.OWNER and (known is None or known.number != number):
        raise Forbidden("a token of a participant is for that participant alone")
    if known is not None and (
        known.session is not None
        or known.is_person
        or (params.strict and known.capabilities is not None and not known.gone)
    ):
        raise NameTaken(f"someone is called {name!r} already", remedy="Choose another name")
    fields: dict[str, Any] = asdict(given) | {"id": "", "name": name, "handle": ""}
    if caller.role != c.Role.OWNER and known is not None:  # what others decide by is not the holder's to say
        tags = {key: value for key, value in known.identity.metadata.items() if key == "tags"}
        own = {key: value for key, value in given.metadata.items() if key != "tags"}
        fields |= {"kind": known.identity.kind, "metadata": own | tags}
    described = c.AgentIdentity(**fields)
    secret = None
    if params.url is not None and (known is None or known.url != params.url or known.secret is None):
        secret = secrets.token_urlsafe(32)
    if known is None:
        known = identities.enlist(name, given.kind, described=described)
    kept = replace(
        known,
        identity=replace(
            described, id=known.identity.id, name=known.identity.name, handle=known.identity.handle
        ),
        capabilities=declared,
        url=params.url,
        secret=(secret or known.secret) if params.url else None,
        lease_seconds=params.lease_seconds,
        gone=False,
    )
    if kept != known:
        identities.put(kept, "agent.registered")
    seconds = params.lease_seconds or policy.lease.total_seconds()
    return kept, c.RegisterResult(identity=kept.identity, lease_seconds=seconds, secret=secret)


def _check_ways(params: c.RegisterParams, caller: Caller) -> None:
    """Go on only if messages can get there as is asked for."""
    if params.url is not None:
        check_url(params.url)
        if caller.role != c.Role.OWNER:  # the host may reach what its participants may not
            raise Forbidden("only the owner of the host says where messages are posted")
    lease = params.lease_seconds
    if lease is not None and not 0 < lease <= _LONGEST_LEASE:
        raise InvalidParams(f"a lease has up to {_LONGEST_LEASE:.0f} seconds", field="params.leaseSeconds")


def _check_capabilities(declared: c.AgentSessionCapabilities, agent: str) -> None:
    c.check_receives(declared, agent)
    queued = [mode for mode in declared.delivery.modes if mode in _QUEUED]
    if queued and not declared.delivery.queue:
        raise CapabilityUnsupported(
            "delivery.queue",
            queued[0].value,
            tuple(mode.value for mode in declared.delivery.modes if mode not in _QUEUED),
            agent=agent,
            remedy="Only a session that holds messages itself (queue: true) knows this boundary",
        )
