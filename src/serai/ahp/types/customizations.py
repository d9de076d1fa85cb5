"""The types of customisations: plugins and watched directories, and their children."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from serai.ahp.types.common import URI, Icon, TextRange
from serai.ahp.wire import UnknownKind, UnknownType, Value


class CustomizationType(StrEnum):
    """The two kinds of containers, then the kinds of children."""

    PLUGIN = "plugin"
    DIRECTORY = "directory"
    AGENT = "agent"
    SKILL = "skill"
    PROMPT = "prompt"
    RULE = "rule"
    HOOK = "hook"
    MCP_SERVER = "mcpServer"


class CustomizationBase(Value, tag_field="type"):
    """The base of all customisations. `range` is the place in the declaring file."""

    id: str
    uri: URI
    name: str
    icons: list[Icon] | None = None
    range: TextRange | None = None


class AgentCustomization(CustomizationBase, tag=CustomizationType.AGENT.value):
    """A custom agent: a Markdown file whose body is the system prompt."""

    description: str | None = None


class SkillCustomization(CustomizationBase, tag=CustomizationType.SKILL.value):
    """A skill, or a slash command."""

    description: str | None = None
    disable_model_invocation: bool | None = None


class PromptCustomization(CustomizationBase, tag=CustomizationType.PROMPT.value):
    """A prompt to start from."""

    description: str | None = None


class RuleCustomization(CustomizationBase, tag=CustomizationType.RULE.value):
    """A rule that goes into the context, always or for the files that its globs name."""

    description: str | None = None
    always_apply: bool | None = None
    globs: list[str] | None = None


class HookCustomization(CustomizationBase, tag=CustomizationType.HOOK.value):
    """A file that declares hooks."""


class McpServerCustomization(CustomizationBase, tag=CustomizationType.MCP_SERVER.value):
    """A file, or a part of one, that declares an MCP server."""


KnownChildCustomization: TypeAlias = (
    AgentCustomization
    | SkillCustomization
    | PromptCustomization
    | RuleCustomization
    | HookCustomization
    | McpServerCustomization
)
ChildCustomization: TypeAlias = KnownChildCustomization | UnknownType


class CustomizationLoadingState(Value, tag_field="kind", tag="loading"):
    """The host is reading it."""


class CustomizationLoadedState(Value, tag_field="kind", tag="loaded"):
    """Everything was read."""


class CustomizationDegradedState(Value, tag_field="kind", tag="degraded"):
    """A part was read; the message says what could not be."""

    message: str


class CustomizationErrorState(Value, tag_field="kind", tag="error"):
    """It could not be read; the message says why."""

    message: str


CustomizationLoadState: TypeAlias = (
    CustomizationLoadingState
    | CustomizationLoadedState
    | CustomizationDegradedState
    | CustomizationErrorState
    | UnknownKind
)


class ContainerCustomizationBase(CustomizationBase):
    """The base of both containers. With `client_id`, that client has published it."""

    enabled: bool
    client_id: str | None = None
    load: CustomizationLoadState | None = None
    children: list[ChildCustomization] | None = None


class PluginCustomization(ContainerCustomizationBase, tag=CustomizationType.PLUGIN.value):
    """A plugin in the Open Plugins format."""


class ClientPluginCustomization(PluginCustomization, tag=CustomizationType.PLUGIN.value):
    """A plugin as its client publishes it; another `nonce` means that it has changed."""

    nonce: str | None = None


class DirectoryCustomization(ContainerCustomizationBase, tag=CustomizationType.DIRECTORY.value):
    """A directory that the host watches; it need not exist yet."""

    contents: Annotated[str, CustomizationType]
    writable: bool


Customization: TypeAlias = PluginCustomization | DirectoryCustomization | UnknownType
