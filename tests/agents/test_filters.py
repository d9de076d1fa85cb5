"""Which tools may be used, by kind and by name."""

from __future__ import annotations

from typing import Any

import pytest

from serai.acp import ToolCallUpdate
from serai.agents import ToolFilter, ToolUse


@pytest.mark.parametrize(
    ("told", "use", "passes"),
    [
        ({}, ToolUse("1"), True),
        ({"allow_kinds": ["read"]}, ToolUse("1", kind="read"), True),
        ({"allow_kinds": ["read"]}, ToolUse("1", kind="edit"), False),
        ({"allow_kinds": []}, ToolUse("1", kind="read"), False),
        ({"allow_kinds": ["read"]}, ToolUse("1"), False),  # it does not say what it is
        ({"block_kinds": ["Execute"]}, ToolUse("1", kind="execute"), False),
        ({"block_kinds": ["execute"]}, ToolUse("1", kind="edit"), True),
        ({"block_names": ["bash"]}, ToolUse("1", title="ls", name="Bash"), False),
        ({"block_names": ["rm *"]}, ToolUse("1", title="rm -rf /"), False),
        ({"block_names": ["rm *"]}, ToolUse("1", title="ls"), True),
        ({"allow_names": ["git *"]}, ToolUse("1", title="GIT status"), True),
        ({"allow_names": ["git *"]}, ToolUse("1", title="rm"), False),
        ({"allow_names": ["[x]"]}, ToolUse("1", title="[x]"), True),
        (
            {"allow_kinds": ["execute"], "block_names": ["rm*"]},
            ToolUse("1", title="rm", kind="execute"),
            False,
        ),
    ],
)
def test_a_filter(told: Any, use: ToolUse, passes: bool) -> None:
    assert (ToolFilter(**told).refuses(use) is None) is passes


def test_a_text_is_no_list_of_names() -> None:
    with pytest.raises(TypeError):
        ToolFilter(block_kinds="execute")


@pytest.mark.parametrize("meta", [{"toolName": "Bash"}, {"vendor": {"toolName": "Bash"}}])
def test_a_tools_own_name_is_found_where_agents_put_it(meta: Any) -> None:
    use = ToolUse("1").after(ToolCallUpdate(tool_call_id="1", title="ls", meta=meta))
    assert (use.name, use.title) == ("Bash", "ls")
    assert use.after(ToolCallUpdate(tool_call_id="1", status="completed")).name == "Bash"
