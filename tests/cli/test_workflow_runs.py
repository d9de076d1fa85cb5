"""`serai workflow run`, with a host that the command itself has started."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cli.programs import Done, run, running, seated
from harness.model.model_server import Call, ModelScriptServer, Reply, model_server

FILE = """\
schema_version: 1
workflow: {id: review, name: A review}
nodes:
  - {id: input, type: input}
  - {id: look, type: agent, agent_ref: helper, prompt_template: "Look at {{input}}"}
  - {id: sum-up, type: agent, agent_ref: helper, prompt_template: "Sum up {{look.output}}"}
  - {id: output, type: output}
edges:
  - {from: input, to: look}
  - {from: look, to: sum-up}
  - {from: sum-up, to: output}
agents: [{slug: helper, model: "local:small"}]
"""


@pytest.fixture
async def server() -> AsyncGenerator[ModelScriptServer]:
    async with model_server() as one:
        yield one


@pytest.fixture
def home(tmp_path: Path, server: ModelScriptServer) -> Path:
    """A home with a model; beside it a workflow, and a folder to work in."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "serai.toml").write_text(
        f'[models.local]\nkind = "openai"\nbase_url = "{server.base_url}"\nids = ["small"]\n'
    )
    (tmp_path / "w.yaml").write_text(FILE)
    (tmp_path / "work").mkdir()
    return home


async def workflow(home: Path, *words: str) -> Done:
    return await run("workflow", *words, home=home, cwd=home.parent / "work")


async def test_a_workflow_is_run_and_asks_what_has_to_be_asked(home: Path, server: ModelScriptServer) -> None:
    server.script[:] = [Reply(text=["It is long."]), Reply(text=["Long."])]
    async with running("serve", "--port", "0", home=home) as host:
        await host.says("is ready")
        done = await workflow(home, "run", "../w.yaml", "--input", "this")
        assert (done.code, done.out) == (0, "Long.\n"), done.err
        assert "Step 1 of 2: look" in done.err
        assert server.bodies[0]["messages"][-1]["content"] == "Look at this"
        listed = await workflow(home, "runs")
        assert "A review" in listed.out
        assert "There are no sessions" in (await run("sessions", home=home)).err
        run_id = listed.out.splitlines()[1].split()[0]
        again = await workflow(home, "run", "--resume", run_id)
        assert (again.code, again.out) == (0, "Long.\n"), again.err
        assert server.requests == 2
        ask = Call("ask_user", {"question": "Which one?"})
        server.script[:] = [Reply(calls=[ask]), Reply(text=["That one."]), Reply(text=["All is done."])]
        words = ("workflow", "run", str(home.parent / "w.yaml"), "--input", "this")
        async with seated(*words, home=home) as person:
            await person.shows(r"\(text\) ")
            person.type("the first\n")
            await person.shows("All is done")
            assert await person.ended() == 0
        assert "the first" in server.bodies[3]["messages"][-1]["content"]
        server.script[:] = [Reply(status=400)]
        failed = await workflow(home, "run", "../w.yaml", "--input", "this")
        assert (failed.code, failed.out) == (1, "")
        (home.parent / "w.yaml").write_text(FILE.replace("local:small", "local:none"))
        wrong = await workflow(home, "run", "../w.yaml")
        assert (wrong.code, wrong.out) == (1, "")
        assert "w.yaml:12: there is no model 'local:none'" in wrong.err


async def test_without_a_host_it_says_what_to_do(home: Path) -> None:
    done = await workflow(home, "run", "../w.yaml")
    assert done.code == 1
    assert "serai serve" in done.err
