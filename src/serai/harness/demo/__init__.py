"""The demo agent: it follows a script, needs no key and no network, and shows all that a session can do.

    stage       how it speaks and hears
    talk        what it says, and how it fails
    tools       what it pretends to do
    deeds       what it really does
    questions   what it asks
    commands    the table of all that, and `help`

A newcomer meets it first, and tests use it. It knows of a session what any function does (`serai.host.turn`).
"""

from __future__ import annotations

from msgspec.structs import replace

from serai.ahp.types import (
    SessionConfigPropertySchema,
    SessionConfigSchema,
    SessionModelInfo,
    ToolAnnotations,
    ToolDefinition,
)
from serai.contract import ContentType, MessagingCapabilities
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.harness.demo.commands import COMMANDS, perform
from serai.harness.demo.stage import APPROVE, PACE, PACES
from serai.harness.demo.talk import DemoFailed
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS

__all__ = ["COMMANDS", "DemoFailed", "DemoHarness"]

_CAPABILITIES = replace(
    STEERABLE,
    messaging=MessagingCapabilities(receive=True, attachments=(ContentType.TEXT, ContentType.IMAGE)),
)


def _schema(pace: str) -> SessionConfigSchema:
    return SessionConfigSchema(
        type="object",
        properties={
            PACE: SessionConfigPropertySchema(
                type="string",
                title="Pace",
                description="How fast the demo agent speaks",
                default=pace,
                enum=list(PACES),
                enum_labels=["Instant", "Brisk", "Human"],
                enum_descriptions=["Without a pause", "So that streaming shows", "As a person reads aloud"],
                session_mutable=True,
            ),
            APPROVE: SessionConfigPropertySchema(
                type="string",
                title="Approval",
                description="Whether the demo agent's tools ask before they run",
                default="ask",
                enum=["ask", "always"],
                enum_labels=["Ask first", "Always allow"],
                enum_descriptions=["Someone says yes or no each time", "Nobody is asked"],
                session_mutable=True,
            ),
            ADDITIONAL_DIRECTORIES: MORE_FOLDERS,
        },
    )


def _model(model_id: str, name: str, window: int) -> SessionModelInfo:
    return SessionModelInfo(
        id=model_id, provider="demo", name=name, max_context_window=window, supports_vision=True
    )


class DemoHarness(CallbackHarness):
    """Makes demo agents.

    Args:
        pace: How fast they speak where a session does not say (`PACES`).
    """

    def __init__(self, *, pace: str = "brisk") -> None:
        super().__init__(
            "demo",
            perform,
            display_name="Demo",
            description="Follows a script: needs no key and no network. Say help.",
            capabilities=_CAPABILITIES,
            schema=_schema(pace),
            models=[
                _model("demo-small", "Demo small (pretend)", 8_000),
                _model("demo-large", "Demo large (pretend)", 200_000),
            ],
            tools=[
                ToolDefinition(
                    name="shell",
                    title="Run a command",
                    description="Pretends to run a shell command.",
                    input_schema={
                        "type": "object",
                        "properties": {"command": {"type": "string"}},
                        "required": ["command"],
                    },
                    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
                ),
            ],
        )
