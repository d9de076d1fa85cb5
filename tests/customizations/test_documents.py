"""Agents, skills, prompts and rules."""

from __future__ import annotations

import pytest

from requirements import proves
from serai.ahp.types import (
    AgentCustomization,
    CustomizationType,
    RuleCustomization,
    SkillCustomization,
)
from serai.customizations.containers import Contents, Origin, noting_problems
from serai.customizations.documents import read_document
from serai.customizations.trees import FetchedTree

AGENT, SKILL = CustomizationType.AGENT, CustomizationType.SKILL
PROMPT, RULE = CustomizationType.PROMPT, CustomizationType.RULE


def read(
    path: str,
    text: str | bytes,
    contents: CustomizationType,
    *,
    folder: str = "f",
    always: bool = False,
    whole_name: bool = False,
) -> Contents:
    data = text.encode() if isinstance(text, str) else text
    origin = Origin(FetchedTree({path: data}, "virtual://x"), "container", trusted=True)
    into = Contents()
    with noting_problems(origin, path, into):
        read_document(origin, path, folder, contents, into, always=always, whole_name=whole_name)
    return into


@proves("ahp:AgentCustomization/agent-file-format", "ahp:AgentCustomization/description-from-frontmatter")
def test_an_agent_has_a_name_a_description_and_a_system_prompt() -> None:
    into = read(
        "f/reviewer.agent.md",
        "---\nname: Reviewer\ndescription: Reviews.\ntools: [a, b]\n---\nYou review.\n",
        AGENT,
    )
    [child], [definition] = into.children, into.definitions
    assert isinstance(child, AgentCustomization)
    assert (child.name, child.description, child.uri) == (
        "Reviewer",
        "Reviews.",
        "virtual://x/f/reviewer.agent.md",
    )
    assert definition.fields["tools"] == ["a", "b"]
    assert definition.body() == "You review.\n"


def test_a_skill_is_known_by_its_folder_and_may_be_for_people_or_for_the_model_alone() -> None:
    text = "---\ndescription: d\ndisable-model-invocation: true\n---\n"
    [definition] = read("f/deploy/SKILL.md", text, SKILL).definitions
    child = definition.child
    assert isinstance(child, SkillCustomization)
    assert (child.name, child.disable_model_invocation) == ("deploy", True)
    assert definition.user_invocable
    [quiet] = read("f/q/SKILL.md", "---\nuser-invocable: false\n---\nx", SKILL).definitions
    assert not quiet.user_invocable


@pytest.mark.parametrize(
    ("text", "always", "applies", "globs"),
    [
        ("Plain.", True, True, None),
        ("Plain.", False, None, None),
        (
            "---\nglobs: *.ts, src/*.{js,jsx}\nalwaysApply: false\n---\nx",
            False,
            False,
            ["*.ts", "src/*.{js,jsx}"],
        ),
        ("---\nglobs:\nalwaysApply: true\n---\nx", False, True, None),
        ("---\nglobs:\n  - a\n  - 'b'\n---\nx", False, None, ["a", "b"]),
        ("---\napplyTo: '**/*.py,**/*.pyi'\n---\nx", False, True, ["**/*.py", "**/*.pyi"]),
        ("---\napplyTo: '**'\n---\nx", False, True, None),
        ('---\npaths: ["src/**"]\n---\nx', True, True, ["src/**"]),
        ("---\nalwaysApply: 'true'\n---\nx", False, True, None),
    ],
)
def test_a_rule_says_when_it_applies(
    text: str, always: bool, applies: bool | None, globs: list[str] | None
) -> None:
    [child] = read("f/style.mdc", text, RULE, always=always).children
    assert isinstance(child, RuleCustomization)
    assert (child.always_apply, child.globs) == (applies, globs)


@proves("ahp:RuleCustomization/rule-file-format")
@pytest.mark.parametrize("ending", [".mdc", ".md"])
def test_the_body_of_a_rules_file_is_the_rule(ending: str) -> None:
    text = "---\ndescription: How we write.\n---\n# Style\n\nWrite briefly.\n"
    into = read(f"f/style{ending}", text, RULE)
    [child], [definition] = into.children, into.definitions
    assert isinstance(child, RuleCustomization)
    assert (child.name, child.description) == ("style", "How we write.")
    assert definition.body() == "# Style\n\nWrite briefly.\n"


def test_a_rule_that_always_applies_counts_even_when_its_frontmatter_is_broken() -> None:
    into = read("AGENTS.md", "---\nRules follow.\n", RULE, folder="", always=True)
    assert "AGENTS.md, line 1" in into.problems[0]
    [definition] = into.definitions
    assert definition.body() == "---\nRules follow.\n"
