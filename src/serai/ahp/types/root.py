"""The root channel: which agents there are, and the host's own settings."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import field

from serai.ahp.types.common import URI, ConfigSchema, FreeForm, Number, ProtectedResourceMetadata
from serai.ahp.types.customizations import Customization
from serai.ahp.types.terminal import TerminalInfo
from serai.ahp.wire import State, Value


class PolicyState(StrEnum):
    """Whether a policy lets a model be used."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    UNCONFIGURED = "unconfigured"


class ModelSelection(Value):
    """A model, and settings of its own."""

    id: str
    config: FreeForm | None = None


class SessionModelInfo(Value):
    """A model that an agent offers."""

    id: str
    provider: str
    name: str
    max_context_window: Number | None = None
    supports_vision: bool | None = None
    policy_state: Annotated[str, PolicyState] | None = None
    config_schema: ConfigSchema | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class AgentInfo(Value):
    """An agent that sessions can be made with."""

    provider: str
    display_name: str
    description: str
    models: list[SessionModelInfo]
    protected_resources: list[ProtectedResourceMetadata] | None = None
    customizations: list[Customization] | None = None


class RootConfigState(Value):
    """The host's settings and their values."""

    schema: ConfigSchema
    values: FreeForm


class RootState(State):
    """The state of `ahp-root://`."""

    agents: list[AgentInfo]
    active_sessions: Number | None = None
    terminals: list[TerminalInfo] | None = None
    config: RootConfigState | None = None


class TelemetryCapabilities(Value):
    """Where each kind of telemetry can be subscribed to; `logs` may be a template with `{level}`."""

    logs: URI | None = None
    traces: URI | None = None
    metrics: URI | None = None
