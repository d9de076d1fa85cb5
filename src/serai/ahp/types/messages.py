"""The types of messages, pending messages, input requests, questions and answers."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import field

from serai.ahp.types.common import URI, ContentRef, FreeForm, Number, TextRange, TextSelection
from serai.ahp.wire import UnknownKind, UnknownState, UnknownType, Value


class MessageAttachmentBase(Value, tag_field="type"):
    """The base of all attachments. `range` is the place in the message's text that stands for it."""

    label: str
    range: TextRange | None = None
    display_kind: str | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class SimpleMessageAttachment(MessageAttachmentBase, tag="simple"):
    """An attachment that its producer describes: the model reads `model_representation`."""

    model_representation: str | None = None


class MessageEmbeddedResourceAttachment(MessageAttachmentBase, tag="embeddedResource"):
    """Content that travels inside the message, in base64."""

    data: str
    content_type: str
    selection: TextSelection | None = None


class MessageResourceAttachment(ContentRef, tag_field="type", tag="resource"):
    """Content that is stored elsewhere and read when it is needed."""

    label: str
    range: TextRange | None = None
    display_kind: str | None = None
    meta: FreeForm | None = field(default=None, name="_meta")
    selection: TextSelection | None = None


MessageAttachment: TypeAlias = (
    SimpleMessageAttachment | MessageEmbeddedResourceAttachment | MessageResourceAttachment | UnknownType
)


class UserMessage(Value):
    """A message of a person, with its attachments."""

    text: str
    attachments: list[MessageAttachment] | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class PendingMessageKind(StrEnum):
    """The use of a pending message: in the running turn, or as a later turn of its own."""

    STEERING = "steering"
    QUEUED = "queued"


class PendingMessage(Value):
    """A message that waits for its delivery."""

    id: str
    user_message: UserMessage


class SessionInputResponseKind(StrEnum):
    """The outcome of an input request."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class SessionInputOption(Value):
    """One of the choices."""

    id: str
    label: str
    description: str | None = None
    recommended: bool | None = None


class SessionInputQuestionBase(Value, tag_field="kind"):
    """The base of all questions."""

    id: str
    message: str
    title: str | None = None
    required: bool | None = None


class SessionInputTextQuestion(SessionInputQuestionBase, tag="text"):
    """Asks for text; `min` and `max` bound its length."""

    format: str | None = None
    min: Number | None = None
    max: Number | None = None
    default_value: str | None = None


class SessionInputNumberQuestion(SessionInputQuestionBase, tag="number"):
    """Asks for a number."""

    min: Number | None = None
    max: Number | None = None
    default_value: Number | None = None


class SessionInputIntegerQuestion(SessionInputNumberQuestion, tag="integer"):
    """Asks for a whole number. In the specification it is the number question with another kind."""


class SessionInputBooleanQuestion(SessionInputQuestionBase, tag="boolean"):
    """Asks yes or no."""

    default_value: bool | None = None


class SessionInputSingleSelectQuestion(SessionInputQuestionBase, tag="single-select"):
    """Asks for one of several choices."""

    options: list[SessionInputOption]
    allow_freeform_input: bool | None = None


class SessionInputMultiSelectQuestion(SessionInputQuestionBase, tag="multi-select"):
    """Asks for some of several choices; `min` and `max` bound how many."""

    options: list[SessionInputOption]
    allow_freeform_input: bool | None = None
    min: Number | None = None
    max: Number | None = None


SessionInputQuestion: TypeAlias = (
    SessionInputTextQuestion
    | SessionInputNumberQuestion
    | SessionInputIntegerQuestion
    | SessionInputBooleanQuestion
    | SessionInputSingleSelectQuestion
    | SessionInputMultiSelectQuestion
    | UnknownKind
)


class SessionInputTextAnswerValue(Value, tag_field="kind", tag="text"):
    """Text."""

    value: str


class SessionInputNumberAnswerValue(Value, tag_field="kind", tag="number"):
    """A number."""

    value: Number


class SessionInputBooleanAnswerValue(Value, tag_field="kind", tag="boolean"):
    """Yes or no."""

    value: bool


class SessionInputSelectedAnswerValue(Value, tag_field="kind", tag="selected"):
    """The id of the selected option."""

    value: str
    freeform_values: list[str] | None = None


class SessionInputSelectedManyAnswerValue(Value, tag_field="kind", tag="selected-many"):
    """The ids of the selected options."""

    value: list[str]
    freeform_values: list[str] | None = None


SessionInputAnswerValue: TypeAlias = (
    SessionInputTextAnswerValue
    | SessionInputNumberAnswerValue
    | SessionInputBooleanAnswerValue
    | SessionInputSelectedAnswerValue
    | SessionInputSelectedManyAnswerValue
    | UnknownKind
)


class SessionInputAnswered(Value, tag_field="state"):
    """An answer with a value. The specification has one shape for two states; here each state is a type."""

    value: SessionInputAnswerValue


class SessionInputDraft(SessionInputAnswered, tag="draft"):
    """An answer that is still being written."""


class SessionInputSubmitted(SessionInputAnswered, tag="submitted"):
    """An answer that was submitted."""


class SessionInputSkipped(Value, tag_field="state", tag="skipped"):
    """A question that was skipped, perhaps with a comment."""

    freeform_values: list[str] | None = None


SessionInputAnswer: TypeAlias = SessionInputDraft | SessionInputSubmitted | SessionInputSkipped | UnknownState


class SessionInputRequest(Value):
    """An input request of a session. `answers` are by question."""

    id: str
    message: str | None = None
    url: URI | None = None
    questions: list[SessionInputQuestion] | None = None
    answers: dict[str, SessionInputAnswer] | None = None
