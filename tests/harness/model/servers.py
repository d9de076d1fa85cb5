"""Model sessions against a server on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from harness.conversation import Conversation, frame
from harness.model.model_server import ModelScriptServer
from serai.ahp.types import (
    AgentSelection,
    SessionState,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
)
from serai.config.models import ModelKind, ModelServer, PricePerMillion
from serai.config.settings import ChatSettings
from serai.harness.model.harness import ModelHarness
from serai.harness.model.runs import WorkflowHarness
from serai.host.host import Host
from serai.redact import Redactor
from serai.store.contract import Store
from serai.store.memory import MemoryStore

_PRICES = {"small": PricePerMillion(input=1, output=10), "large": PricePerMillion(input=5, output=50)}


def model_harness(
    redactor: Redactor,
    base_url: str,
    *,
    entry: dict[str, Any] | None = None,
    trusts: bool = True,
    **chat: Any,
) -> ModelHarness:
    """The provider `model`, with two models of a server: `local:small`, the default, and `local:large`."""
    fields: dict[str, Any] = {"ids": ("small", "large"), "prices": _PRICES, **(entry or {})}
    settings = msgspec.convert({"default_model": "local:small", **chat}, ChatSettings)
    local = ModelServer(kind=ModelKind.OPENAI, base_url=base_url, **fields)
    return ModelHarness({"local": local}, settings, redactor, is_trusted=lambda _folder: trusts)


@asynccontextmanager
async def model_host(
    server: ModelScriptServer, store: Store | None = None, *, house: dict[str, Any] | None = None, **chat: Any
) -> AsyncGenerator[Host]:
    """A host with models, and with runs of workflows. `house` is what else `Host` takes."""
    host = Host(store or MemoryStore(), [], frame, **(house or {}))
    harness = model_harness(host.redactor, server.base_url, **chat)
    host.agent_list.add([harness, WorkflowHarness(harness)])
    await host.open()
    try:
        yield host
    finally:
        await host.close()
        await harness.close()


async def talk(host: Host, folder: Path, **params: Any) -> Conversation:
    return await Conversation.begin(host, "model", working_directory=folder.as_uri(), **params)


def agent_file(folder: Path, **fields: Any) -> AgentSelection:
    path = folder / "helper.agent.yaml"
    path.write_text(json.dumps({"slug": "helper", **fields}))  # JSON is YAML
    return AgentSelection(uri=path.as_uri())


async def rows_of(conversation: Conversation, query: str = "session_messages") -> list[Any]:
    journal = conversation.host.journal
    await journal.committed()
    return await journal.store.relay(query, conversation.session.uri)


def pending(state: SessionState) -> list[str]:
    """The calls that wait for someone."""
    parts = state.active_turn.response_parts if state.active_turn else []
    calls = [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]
    return [one.tool_call_id for one in calls if isinstance(one, ToolCallPendingConfirmationState)]
