"""One list of agents: what is added appears, what is missing can be installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from cli.programs import address_of, run, running
from cli.test_serve_agents import QUICK, SESSION, describe_agent
from conformance.client import Client, Refused, connecting
from harness.acp.conftest import said, say
from serai.cli.serve import function_agent
from serai.errors import ConfigInvalid


async def known(client: Client) -> dict[str, dict[str, object]]:
    result = await client.request("serai/agents", "ahp-root://")
    return {one["provider"]: one for one in result["agents"]}


async def test_an_agent_comes_and_goes_with_the_settings_and_its_running_sessions_stay(
    tmp_path: Path,
) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        address, token = await address_of(host, tmp_path)
        async with connecting(f"ws://{address}", "one", token=token) as client:
            await client.initialize("ahp-root://")
            assert (await known(client))["demo"]["installed"] is True
            describe_agent(tmp_path)
            await client.until(lambda: any(agent.provider == "quick" for agent in client.root.agents))
            assert (await known(client))["quick"]["installed"] is True
            await client.request("createSession", SESSION, provider="quick")
            await client.subscribe(SESSION)
            await client.until(lambda: client.session(SESSION).lifecycle == "ready")
            (tmp_path / "serai.toml").unlink()
            await client.until(lambda: all(agent.provider != "quick" for agent in client.root.agents))
            assert "quick" not in await known(client)
            with pytest.raises(Refused):
                await client.request("createSession", "ahp-session:/two", provider="quick")
            assert said(await say(client, SESSION, "echo here")) == "here"


async def test_an_agent_is_installed_in_a_terminal_and_then_offered(tmp_path: Path) -> None:
    program = tmp_path / "late-agent"
    made = f"#!/bin/sh\\nexec {shlex.join(QUICK)} '{{}}'\\n"
    install = f"printf '{made}' > {program}; chmod +x {program}"
    (tmp_path / "serai.toml").write_text(
        f"[agents.late]\ncommand = \"{program}\"\ninstall = '''{install}'''\n"
    )
    async with running("serve", "--port", "0", home=tmp_path) as host:
        address, token = await address_of(host, tmp_path)
        async with connecting(f"ws://{address}", "one", token=token) as client:
            await client.initialize("ahp-root://")
            await client.until(lambda: bool(client.root.agents))
            begun = await client.request("serai/installAgent", "ahp-root://", provider="late")
            assert begun["terminal"].startswith("ahp-terminal:/")
            await client.until(lambda: any(agent.provider == "late" for agent in client.root.agents))


async def test_a_chat_with_an_agent_that_is_missing_says_how_to_install_it_and_finds_it_then(
    tmp_path: Path,
) -> None:
    program = tmp_path / "late-agent"
    (tmp_path / "serai.toml").write_text(
        f"[agents.late]\ncommand = '{program}'\ninstall = 'npm install late-agent'\n"
    )
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await address_of(host, tmp_path)
        refused = await run("chat", "--agent", "late", "--once", "hi", home=tmp_path)
        assert refused.code != 0
        assert "there is no agent 'late' yet" in refused.err
        assert "install it: npm install late-agent" in refused.err
        program.write_text(f"#!/bin/sh\nexec {shlex.join(QUICK)} '{{}}'\n")
        program.chmod(0o755)
        assert (await run("chat", "--agent", "late", "--once", "echo hi", home=tmp_path)).code == 0


@pytest.mark.parametrize(
    "words", ["nothing", "nothing:", "no_such_module:answer", "os:no_such", "os:getcwd", "os:sep"]
)
def test_a_function_that_is_none_is_refused_in_words(words: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        function_agent(words)
    assert words in str(refused.value)
    assert sys.path
