"""Every field, enumeration member and union of the session channel's page, one test each."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import Struct

from ahp.types.examples import Json, full, named, tag_of, variants, wire_fields
from requirements import Requirement, load, proves
from serai.ahp.types import ChildCustomization, CustomizationType
from serai.ahp.wire import Unknown, UnknownKind, UnknownState, UnknownStatus, UnknownType, convert, to_json
from serai.errors import Mismatch

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

OUR_TYPES: dict[str, tuple[str, ...]] = {
    "MessageAttachmentBase": (
        "SimpleMessageAttachment",
        "MessageEmbeddedResourceAttachment",
        "MessageResourceAttachment",
    ),
    "ResourceReponsePart": ("ResourceResponsePart",),
    "SessionInputAnswered": ("SessionInputDraft", "SessionInputSubmitted"),
    "SessionInputNumberQuestion": ("SessionInputNumberQuestion", "SessionInputIntegerQuestion"),
    "SessionToolCallApprovedAction": ("SessionToolCallConfirmedAction",),
    "SessionToolCallDeniedAction": ("SessionToolCallConfirmedAction",),
}
"""Types of the page that have another name here, or are several types."""

TAGGED = {
    "CustomizationLoadStatus": "CustomizationLoadState",
    "MessageAttachmentKind": "MessageAttachment",
    "ResponsePartKind": "ResponsePart",
    "SessionInputAnswerState": "SessionInputAnswer",
    "SessionInputAnswerValueKind": "SessionInputAnswerValue",
    "SessionInputQuestionKind": "SessionInputQuestion",
    "ToolCallStatus": "ToolCallState",
    "ToolResultContentType": "ToolResultContent",
}
"""Enumerations of the page that are here the tags of a union."""

TAGS: dict[str, tuple[str, ...]] = {
    "MarkdownResponsePart.kind": ("markdown",),
    "ReasoningResponsePart.kind": ("reasoning",),
    "ResourceReponsePart.kind": ("contentRef",),
    "SessionInputAnswered.state": ("draft", "submitted"),
    "SessionInputNumberQuestion.kind": ("number", "integer"),
    "SystemNotificationResponsePart.kind": ("systemNotification",),
    "ToolCallResponsePart.kind": ("toolCall",),
}
"""Tags whose value the page gives by the name of an enumeration's member."""

EXAMPLES: dict[str, Json] = {
    "SessionToolCallApprovedAction": {
        "type": "session/toolCallConfirmed",
        "turnId": "t1",
        "toolCallId": "c1",
        "approved": True,
        "confirmed": "user-action",
        "editedToolInput": "ls -l",
        "selectedOptionId": "yes",
    },
    "SessionToolCallDeniedAction": {
        "type": "session/toolCallConfirmed",
        "turnId": "t1",
        "toolCallId": "c1",
        "approved": False,
        "reason": "denied",
        "userSuggestion": {"text": "ask first"},
        "reasonMessage": {"markdown": "*no*"},
        "selectedOptionId": "no",
    },
}


UNKNOWN = {"kind": UnknownKind, "state": UnknownState, "status": UnknownStatus, "type": UnknownType}


def required_of(kind: str) -> list[ParameterSet]:
    return [
        pytest.param(r, id=r.key, marks=proves(r.id))
        for r in load().values()
        if r.page == "ahp-session-channel" and r.kind == kind and r.step == 1
    ]


def of_heading(kind: str) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for r in load().values():
        if r.page == "ahp-session-channel" and r.kind == kind:
            found.setdefault(r.key.partition(".")[0], []).append(r)
    return found


def ours(name: str) -> list[type[Struct]]:
    return [named(each) for each in OUR_TYPES.get(name, (name,))]


def example(name: str, struct: type[Struct]) -> Json:
    return EXAMPLES.get(name) or full(struct)


def among_others(struct: type[Struct]) -> Any:
    """The union in which a tagged type stands: only there is its tag needed."""
    tag_field, _ = tag_of(struct)
    return cast("Any", struct) | UNKNOWN[tag_field] if tag_field else struct


def snake(name: str) -> str:
    return re.sub(r"([A-Z]+)", r"_\1", name.lstrip("_")).lower()


@pytest.mark.parametrize("requirement", required_of("field"))
def test_a_field_is_read_and_written_under_its_name_and_is_needed_or_not(requirement: Requirement) -> None:
    type_name, _, name = requirement.key.partition(".")
    for n, struct in enumerate(ours(type_name)):
        whole = example(type_name, struct)
        without = {key: value for key, value in whole.items() if key != name}
        assert name in whole
        assert to_json(convert(whole, struct)) == whole

        if requirement.required:
            with pytest.raises(Mismatch, match=rf"(^{name}: is required|`{name}`)"):
                convert(without, among_others(struct))
        else:
            expected = {**without, name: None} if name == "activeClient" and "type" in whole else without
            assert to_json(convert(without, struct)) == expected

        tags = TAGS.get(requirement.key)
        if name == tag_of(struct)[0]:
            assert tag_of(struct)[1] == (tags[n] if tags else requirement.value)
        else:
            assert tags is None
            assert wire_fields(struct)[name].name == snake(name)
            if requirement.value is not None:
                assert whole[name] == requirement.value


def members(name: str) -> set[Any]:
    if name in TAGGED:
        return {tag_of(variant)[1] for variant in known(named(TAGGED[name]))}
    enum: type[Enum] = named(name)
    return {member.value for member in enum.__members__.values()}


@pytest.mark.parametrize("requirement", required_of("member"))
def test_a_member_has_its_value(requirement: Requirement) -> None:
    enum, _, member = requirement.key.partition(".")
    assert requirement.value in members(enum)
    if enum not in TAGGED:
        assert named(enum)[snake(member).lstrip("_").upper()].value == requirement.value


@pytest.mark.parametrize("name", sorted(of_heading("member")))
def test_an_enumeration_has_no_other_members(name: str) -> None:
    assert members(name) == {r.value for r in of_heading("member")[name]}


@pytest.mark.parametrize("requirement", required_of("union"))
def test_a_union_is_made_of_exactly_its_variants(requirement: Requirement) -> None:
    wanted = requirement.variants or ()
    if requirement.key == "ChildCustomizationType":
        members = [CustomizationType[snake(each.partition(".")[2]).lstrip("_").upper()] for each in wanted]
        assert {tag_of(child)[1] for child in known(ChildCustomization)} == {each.value for each in members}
        return
    assert {each for name in wanted for each in ours(name)} == set(known(named(requirement.key)))


def known(alias: Any) -> list[type[Struct]]:
    """The variants without the one for those that are unknown, which every union of the page has."""
    found = variants(alias)
    if len(found) > 1:
        assert sum(issubclass(each, Unknown) for each in found) == 1
    return [each for each in found if not issubclass(each, Unknown)]


@pytest.mark.parametrize("name", ["SessionToolCallApprovedAction", "SessionToolCallDeniedAction"])
def test_an_approval_and_a_denial_are_both_read(name: str) -> None:
    struct = named("SessionToolCallConfirmedAction")
    assert to_json(convert(EXAMPLES[name], struct)) == EXAMPLES[name]
