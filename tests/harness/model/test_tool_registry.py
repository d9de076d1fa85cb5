from __future__ import annotations

import jsonschema
import msgspec
import pytest

from harness.model.workbench import Workbench
from relay.workspaces import inn
from requirements import proves
from serai.config.keys import resolve_secret, with_secret
from serai.errors import ConfigInvalid
from serai.harness.model.tools.registry import BUILT_IN_TOOLS, is_tool_name, narrowed, relay_tools
from serai.relay.tools import RelayTools


@proves("session:Tools-and-secrets/workflow-tool-surface")
def test_each_built_in_tool_has_a_name_a_schema_in_one_piece_and_refuses_what_it_does_not_know() -> None:
    assert len({tool.name for tool in BUILT_IN_TOOLS}) == 11
    for tool in (*BUILT_IN_TOOLS, *RelayTools.own):
        jsonschema.Draft202012Validator.check_schema(tool.schema)
        assert "$ref" not in str(tool.schema)
        assert tool.description
    for tool in BUILT_IN_TOOLS:
        with pytest.raises(msgspec.ValidationError):
            tool.read({"no_such_field": 1})


@proves("session:Tools-and-secrets/tools-only-narrowed")
def test_names_take_tools_away_and_never_add_one() -> None:
    assert tuple(narrowed(BUILT_IN_TOOLS, None).values()) == BUILT_IN_TOOLS
    assert list(narrowed(BUILT_IN_TOOLS, ["git_*", "ask_user", "no_such_tool"])) == [
        *("git_status", "git_diff", "git_commit", "ask_user")
    ]
    assert narrowed(BUILT_IN_TOOLS[:1], ["write_file"]) == {}


def test_the_names_that_an_agent_s_file_may_use() -> None:
    for name in ("read_file", "git_*", "send_message", "mcp__github__*", "mcp__github__issue"):
        assert is_tool_name(name)
    for name in ("shell", "read_files", "Read_File", ""):
        assert not is_tool_name(name)


async def test_a_session_uses_the_relay_s_tools_as_itself(bench: Workbench) -> None:
    async with inn() as house:
        session = await house.session("one")
        found = await relay_tools(house.workspace, RelayTools(house.workspace), session.uri)
        tools = {tool.name: tool for tool in found}
        schemas = {name: tool.schema for name, tool in tools.items()}
        assert schemas.items() >= {tool.name: tool.schema for tool in RelayTools.own}.items()
        listed = msgspec.json.decode((await bench.use(tools["list_agents"])).text)
        assert listed["you"] == "@demo"
        assert "nobody" in (await bench.refusal(tools["send_message"], to="@nobody", text="x")).lower()


def test_a_reference_is_resolved_and_the_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_password(service_name: str, username: str) -> str | None:
        return "kept" if (service_name, username) == ("serai", "github") else None

    monkeypatch.setattr("keyring.get_password", get_password)
    environ = {"TOKEN": "worth-a-lot", "EMPTY": " "}
    assert resolve_secret("env:TOKEN", environ) == "worth-a-lot"
    assert resolve_secret("keyring:github", environ) == "kept"
    header = with_secret("Bearer env:TOKEN", environ)
    assert header is not None
    assert header.text == "Bearer worth-a-lot"
    assert "worth" not in repr(header)
    assert with_secret("plain: no env:TOKEN here", environ) is None
    for missing in ("env:OTHER", "env:EMPTY", "keyring:other"):
        with pytest.raises(ConfigInvalid, match="is not there") as caught:
            resolve_secret(missing, environ)
        assert caught.value.remedy
    with pytest.raises(ConfigInvalid) as caught:
        resolve_secret("worth-a-lot", environ)
    assert "worth" not in str(caught.value)
