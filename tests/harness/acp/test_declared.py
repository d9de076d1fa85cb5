"""What real handshakes mean for sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serai.acp import Handshake
from serai.contract import ContentType, DeliveryMode, supports
from serai.harness.acp.link import can_steer, declared


@pytest.fixture
def handshakes(shared_folder: Path) -> dict[str, Handshake]:
    return {
        path.stem: Handshake.of(json.loads(path.read_text())["initialize"]["result"])
        for path in sorted((shared_folder / "fixtures" / "acp-handshakes").glob("*.json"))
    }


def test_only_who_advertises_it_can_be_steered(handshakes: dict[str, Handshake]) -> None:
    steered = {name for name, one in handshakes.items() if can_steer(one)}
    assert steered == {"claude-agent-acp"}
    for name, one in handshakes.items():
        assert supports(declared(one), DeliveryMode.NEXT_TOOL_CALL) is (name in steered)


def test_every_handshake_gives_what_a_session_may_declare(handshakes: dict[str, Handshake]) -> None:
    for one in handshakes.values():
        told, found = one.capabilities, declared(one)
        assert supports(found, ContentType.IMAGE) is told.prompt.image
        assert found.lifecycle.fork is told.fork_session
        assert found.lifecycle.resume is (told.resume_session or told.load_session)
        assert found.delivery.modes[0] is DeliveryMode.IMMEDIATE


def test_a_handshake_that_says_nothing_promises_nothing() -> None:
    assert not can_steer(Handshake.of(None))
    assert not can_steer(Handshake.of({"_meta": {"steering": {"supported": "yes"}}}))
    assert can_steer(Handshake.of({"agentCapabilities": {"_meta": {"steering": {"supported": True}}}}))
