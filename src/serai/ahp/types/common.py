"""Types that several channels share."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from serai.ahp.wire import Value

URI: TypeAlias = str
"""A URI. AHP compares them as text; the code that opens one checks its form."""

Number: TypeAlias = int | float
"""JavaScript's number. An integer stays an integer."""

Count: TypeAlias = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""A whole number that every JSON reader keeps exactly: JavaScript's stop at 2 to the 53rd."""

FreeForm: TypeAlias = dict[str, Any]
"""A record whose content belongs to its writer: kept exactly as it came, `null`s included."""

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON Schema object: free-form, since schemas have more words than AHP lists."""

RootURI: TypeAlias = Literal["ahp-root://"]
ROOT: RootURI = "ahp-root://"
"""The root channel, which also represents the connection in commands without a channel."""


class Markdown(Value):
    """Text that is to be rendered as Markdown."""

    markdown: str


StringOrMarkdown: TypeAlias = str | Markdown
"""Plain text, or Markdown when it says so."""


class Icon(Value):
    """A picture for a plugin or a tool."""

    src: URI
    content_type: str | None = None
    sizes: list[str] | None = None
    theme: str | None = None


class ProtectedResourceMetadata(Value, rename=None):
    """Metadata of a protected resource, with the names of RFC 9728, and AHP's own `required`."""

    resource: str
    resource_name: str | None = None
    authorization_servers: list[str] | None = None
    jwks_uri: str | None = None
    scopes_supported: list[str] | None = None
    bearer_methods_supported: list[str] | None = None
    resource_signing_alg_values_supported: list[str] | None = None
    resource_encryption_alg_values_supported: list[str] | None = None
    resource_encryption_enc_values_supported: list[str] | None = None
    resource_documentation: str | None = None
    resource_policy_uri: str | None = None
    resource_tos_uri: str | None = None
    required: bool | None = None


class ConfigPropertySchema(Value):
    """One setting: its type, its labels for people, and its possible values."""

    type: str
    title: str
    description: str | None = None
    default: Any = None
    enum: list[str] | None = None
    enum_labels: list[str] | None = None
    enum_descriptions: list[str] | None = None
    read_only: bool | None = None
    items: ConfigPropertySchema | None = None
    properties: dict[str, ConfigPropertySchema] | None = None
    required: list[str] | None = None


class ConfigSchema(Value):
    """The existing settings, by name."""

    type: Literal["object"]
    properties: dict[str, ConfigPropertySchema]
    required: list[str] | None = None


class TextPosition(Value):
    """A position in a text: line and character, both from 0."""

    line: Count
    character: Count


class TextRange(Value):
    """A range in a text."""

    start: TextPosition
    end: TextPosition


class TextSelection(Value):
    """A selection in a text."""

    range: TextRange


class ContentRef(Value):
    """Content that is stored elsewhere and read with `resourceRead`."""

    uri: URI
    size_hint: Number | None = None
    content_type: str | None = None


class FileEditSide(Value):
    """A file before or after an edit."""

    uri: URI
    content: ContentRef


class FileEditDiff(Value):
    """The number of lines that an edit adds and removes."""

    added: Number | None = None
    removed: Number | None = None


class FileEdit(Value):
    """A change to one file. Without `before` the file is new; without `after` it is deleted."""

    before: FileEditSide | None = None
    after: FileEditSide | None = None
    diff: FileEditDiff | None = None


class UsageInfo(Value):
    """The usage of a turn."""

    input_tokens: Number | None = None
    output_tokens: Number | None = None
    model: str | None = None
    cache_read_tokens: Number | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class ErrorInfo(Value):
    """An error as a part of the state."""

    error_type: str
    message: str
    stack: str | None = None
