"""The examples of the README and the pages do what the pages say, on a real host."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.players import PLAYER
from hosts import KEY, TOKEN, WITHIN, housing
from serai.ahp import types as t
from serai.ahp.wire import to_json
from serai.client import Disconnected, QuestionAsked, SessionClient, ToolWaiting, connect
from serai.contract import METHODS
from serai.harness.callback import Answer, CallbackHarness
from serai.host.turn import Turn
from serai.relay.sdk import Relay
from serai.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def examples(page: str) -> list[str]:
    """The fenced Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def example(page: str, word: str) -> str:
    """The only example of a page that has this in it."""
    [found] = [text for text in examples(page) if word in text]
    return found


def names_of(code: str, name: str = "example") -> dict[str, Any]:
    """What an example defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(code, name, "exec", dont_inherit=True), names)  # noqa: S102 - it is our own page
    return names


USED = {
    "README.md": ["asyncio.run(main())"],
    "docs/client.md": [
        "asyncio.run(main())",
        "async def watch",
        "async def answer_everything",
        "def tell",
        "async def lend",
        "async def publish",
        "async def shell",
        "async def read",
    ],
    "docs/relay.md": ["asyncio.run(main())", "define_harness"],
    "docs/agent-sessions.md": ["async def tell"],
    "docs/agents.md": ["An agent of my own", "asyncio.run(main())"],
    "docs/python-agents.md": [
        "asyncio.run(main())",
        "async def findings",
        "async def follow",
        "async def careful",
        "async def discuss",
        "async def answered",
        "async def ask_mine",
        "async def test_fixing",
        "async def review",
        "async def converse",
    ],
}
"""By page: the examples that the tests below run."""


@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in PAGES])
def test_every_example_is_run_by_a_test(page: str) -> None:
    assert len(examples(page)) == len(USED.get(page, []))
    assert all(example(page, word) for word in USED.get(page, []))


@pytest.mark.parametrize("page", ["docs/where.md", "docs/architecture.md"])
def test_every_file_that_a_map_names_is_there(page: str) -> None:
    named = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", (ROOT / page).read_text("utf-8"))
    assert len(named) > 20
    assert [
        name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src/serai"))
    ] == []


# -- whole programs: a host of its own process, and the program in another -----------------------------------


@asynccontextmanager
async def running(*command: str, **environ: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Python process, which is gone at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.communicate(), WITHIN)


async def said(process: asyncio.subprocess.Process, pattern: str) -> str:
    """Wait until a process prints something; what the pattern's group has found."""
    assert process.stdout is not None
    printed = ""
    async with asyncio.timeout(WITHIN):
        while (found := re.search(pattern, printed)) is None:
            line = await process.stdout.readline()
            assert line, f"it ended, and had said {printed!r}"
            printed += line.decode()
    return found[1]


def test_every_method_of_the_relay_is_documented_and_no_other() -> None:
    page = (ROOT / "docs" / "relay.md").read_text()
    listed = [name for line in page.splitlines() if line.startswith("    ") for name in line.split()]
    families = {name.partition(".")[0] for name in METHODS}
    named = {name for name in listed if re.fullmatch(r"hello|[a-z]+\.[a-z]+", name)}
    assert {name for name in named if name.partition(".")[0] in families} == set(METHODS)


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        (
            "README.md",
            "I have thought about “rivers”. My thoughts are in a part of their own, above this one.\n",
        ),
        ("docs/client.md", "You said “Hello!”."),
        ("docs/relay.md", "You said “hello”."),
    ],
)
async def test_the_first_program_of_a_page_runs_as_it_stands(tmp_path: Path, page: str, answer: str) -> None:
    code = example(page, "asyncio.run(main())")
    (tmp_path / "program.py").write_text(code)
    home = {"SERAI_HOME": str(tmp_path / "home"), "SERAI_USE_KEYRING": "false"}
    serve = ("-c", "from serai.cli import main; main()", "serve", "--port", "0")
    async with running(*serve, **home) as host:
        url = await said(host, r"(http://\S+/)")
        async with running(str(tmp_path / "program.py"), **home, SERAI_URL=url) as program:
            printed, errors = await asyncio.wait_for(program.communicate(), WITHIN)
    assert errors.decode() == ""
    assert printed.decode().startswith(answer)


def test_the_first_program_of_the_clients_page_has_ten_lines() -> None:
    code = example("docs/client.md", "asyncio.run(main())")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


async def test_an_agent_on_a_host_of_its_own_answers_any_client(tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(example("docs/agents.md", "asyncio.run(main())"))
    start = ("-c", "import asyncio, shout; asyncio.run(shout.main(port=0))")
    async with (
        running(*start, PYTHONPATH=str(tmp_path)) as program,
        connect(await said(program, r"(ws://\S+)\n")) as client,
    ):
        session = await client.create_session("shout")
        result = await (await session.prompt("hello")).result()
    assert result.text == "HELLO"


async def test_ten_lines_are_an_agent_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = example("docs/agents.md", "An agent of my own")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    home = {"SERAI_HOME": str(tmp_path / "home"), "SERAI_USE_KEYRING": "false"}
    serve = ("-c", "from serai.cli import main; main()", "serve", "--port", "0", "--agent", "mine:shout")
    async with running(*serve, **home) as host:
        url = await said(host, r"(http://\S+/)")
        async with connect(url, (tmp_path / "home/token").read_text().strip()) as client:
            session = await client.create_session("shout")
            assert (await (await session.prompt("hello")).result()).text == "HELLO"


async def test_a_function_in_a_process_of_its_own_answers_messages(tmp_path: Path) -> None:
    code = example("docs/relay.md", "define_harness")
    (tmp_path / "program.py").write_text(code)
    home = {"SERAI_HOME": str(tmp_path / "home"), "SERAI_USE_KEYRING": "false"}
    serve = ("-c", "from serai.cli import main; main()", "serve", "--port", "0")
    async with running(*serve, **home) as host:
        url = await said(host, r"(http://\S+/)")
        token = (tmp_path / "home/token").read_text().strip()
        async with running(str(tmp_path / "program.py"), **home, SERAI_URL=url) as program:
            await said(program, "(the reviewer is here)")
            async with await Relay.connect(url, token) as relay:
                sent = await relay.call(
                    "messages.send", to="@reviewer", text="this", waitFor="answered", timeoutMs=20000
                )
    assert sent.deliveries[0].answer.text == "Looks good: this"


# -- functions: a host with an agent that does what the example is about -------------------------------------


async def worker(turn: Turn) -> None:
    """Says something, calls two tools and asks something."""
    await turn.say(f"You said: {turn.message.text}")
    for name in ("read_file", "rm"):
        call = await turn.tool(name, name, message=name)
        if call.approved:
            await call.done("Read it", confirm_result=True)
        elif call.suggestion:
            await turn.say(call.suggestion.text)
    answers = await turn.ask(t.SessionInputRequest(id="q", message="Well?"))
    await turn.say(f" {answers.response}")


async def greeter(turn: Turn) -> None:
    call = await turn.tool("greet", "Greet", message="greet", confirmed="not-needed")
    await call.done("Greeted")
    await turn.say(f"You said: {turn.message.text}")


@asynccontextmanager
async def talking(home: Path, agent: Answer) -> AsyncGenerator[SessionClient]:
    """A session with an agent."""
    harness = CallbackHarness("agent", agent)
    async with (
        housing(lambda: SqliteStore(home / "history.db", KEY), [harness]) as house,
        asyncio.timeout(WITHIN),
        connect(house.url, TOKEN) as client,
    ):
        yield await client.create_session("agent")


async def test_watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch = names_of(example("docs/client.md", "async def watch"))["watch"]
    async with talking(tmp_path, greeter) as session:
        await watch(session, "hi")
    assert capsys.readouterr().out == "\n[Greet]\nYou said: hi\ncomplete: no error\n"


async def test_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tell = names_of(example("docs/agent-sessions.md", "async def tell"))["tell"]
    async with talking(tmp_path, greeter) as session:
        await session.begin_turn("hi")
        assert await tell(session) == "end_turn"
    assert capsys.readouterr().out.startswith("1 session:started {'agent': {'provider': 'agent'}")


async def test_answer_everything(tmp_path: Path) -> None:
    answer = names_of(example("docs/client.md", "async def answer_everything"))["answer_everything"]
    async with talking(tmp_path, worker) as session:
        result = await answer(session, "hi")
    assert result.text == "You said: hi\n\nOnly read, please. decline"
    read, removed = [part.tool_call for part in result.parts if isinstance(part, t.ToolCallResponsePart)]
    assert isinstance(read, t.ToolCallCompletedState)
    assert isinstance(removed, t.ToolCallCancelledState)


async def test_answers_are_written_as_the_page_writes_them(tmp_path: Path) -> None:
    page = (ROOT / "docs/client.md").read_text("utf-8")
    [written] = re.findall(r"`answer\(request_id, (\{.*?\})\)`", page, re.DOTALL)
    options = [t.SessionInputOption(id=one, label=one) for one in ("red", "a", "b")]
    questions: list[t.SessionInputQuestion] = [
        t.SessionInputTextQuestion(id="name", message="?"),
        t.SessionInputIntegerQuestion(id="age", message="?"),
        t.SessionInputBooleanQuestion(id="sure", message="?"),
        t.SessionInputSingleSelectQuestion(id="colour", message="?", options=options),
        t.SessionInputMultiSelectQuestion(id="tags", message="?", options=options),
    ]

    async def asker(turn: Turn) -> None:
        answers = await turn.ask(t.SessionInputRequest(id="q", questions=questions))
        values = {name: to_json(answer)["value"]["value"] for name, answer in answers.answers.items()}
        await turn.say(json.dumps(values))

    async with talking(tmp_path, asker) as session:
        turn = await session.prompt("ask")
        async for event in turn:
            if isinstance(event, QuestionAsked):
                await session.answer(event.request.id, ast.literal_eval(written))
        result = await turn.result()
    assert json.loads(result.text) == ast.literal_eval(written)


async def test_what_the_connection_tells_and_what_the_host_may_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell = names_of(example("docs/client.md", "def tell"))["tell"]
    read = names_of(example("docs/client.md", "async def read"))["read"]
    async with housing() as house:
        client = connect(house.url, TOKEN)
        client.on_event(tell)
        client.handle("resourceRead", read)
        async with client:
            await client.ping()
    assert capsys.readouterr().out == "connected: initialized\n"
    tell(Disconnected("the host is gone", 1.5))
    assert capsys.readouterr().out == "lost (the host is gone), trying again in 1.5 s\n"
    assert (await read(None)).data == "the content"


async def test_lend_a_tool(tmp_path: Path) -> None:
    lend = names_of(example("docs/client.md", "async def lend"))["lend"]

    async def caller(turn: Turn) -> None:
        client = turn.active_client
        assert client is not None
        call = await turn.tool(
            "open_file",
            "Open a file",
            message="open it",
            input='{"path": "a.txt"}',
            confirmed="not-needed",
            client_id=client.client_id,
        )
        await turn.say(str((await call.result()).content))

    async with talking(tmp_path, caller) as session:
        await lend(session)
        result = await (await session.prompt("go")).result()
    assert "opened a.txt" in result.text


async def test_publish_a_plugin(tmp_path: Path) -> None:
    publish = names_of(example("docs/client.md", "async def publish"))["publish"]
    async with talking(tmp_path, greeter) as session:
        await publish(session)
        state = await session.until(lambda state: "Polishes a text" in str(state.customizations))
    assert "My editor's" in str(state.customizations)


async def test_use_a_terminal_of_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    shell = names_of(example("docs/client.md", "async def shell"))["shell"]
    async with housing() as house, asyncio.timeout(WITHIN), connect(house.url, TOKEN) as client:
        await shell(client)
    assert "make; exit" in capsys.readouterr().out


async def test_the_pieces_of_the_agents_page_are_an_agent(tmp_path: Path) -> None:
    """What stands there indented: the tool call, with something to run in the place of `run`."""
    page = (ROOT / "docs/agents.md").read_text("utf-8")
    [piece] = [text for text in re.findall(r"(?:^    .*\n|^\n)+", page, re.MULTILINE) if "turn.tool(" in text]
    code = f"async def agent(turn):\n{piece}\n"
    agent = names_of(code + "\ndef run(command):\n    return f'ran {command}'\n")["agent"]
    async with talking(tmp_path, agent) as session:
        turn = await session.prompt("go")
        async for event in turn:
            if isinstance(event, ToolWaiting):
                await session.approve(event.call.tool_call_id, edited_input='{"command": "pwd"}')
        [part] = (await turn.result()).parts
    assert isinstance(part, t.ToolCallResponsePart)
    assert isinstance(part.tool_call, t.ToolCallCompletedState)
    assert part.tool_call.content == [t.ToolResultTextContent(text='ran {"command": "pwd"}')]


# -- agents from Python: those of the page are played by one of the tests' own -------------------------------


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what Claude and Codex answer: to each prompt one of the answers, else what the prompt says."""
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def play(**told: Any) -> None:
        args = json.dumps(["-I", "-S", "-u", str(PLAYER), json.dumps(told)])
        entry = f"command = {json.dumps(sys.executable)}\nargs = {args}\n"
        (tmp_path / "serai.toml").write_text(f"[agents.claude]\n{entry}[agents.codex]\n{entry}")

    return play


def of_the_page(word: str) -> dict[str, Any]:
    return names_of(example("docs/python-agents.md", word))


async def test_an_agent_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "my-agent"
    told = json.dumps({"answers": ["It is mine."]})
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S -u {PLAYER} '{told}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert await of_the_page("async def ask_mine")["ask_mine"]("hi") == "It is mine."


async def test_testing_without_agents() -> None:
    await of_the_page("async def test_fixing")["test_fixing"]()


async def test_asking_an_agent(tmp_path: Path, play: Callable[..., None]) -> None:
    play(answers=["It is an inn."])
    (tmp_path / "program.py").write_text(example("docs/python-agents.md", "asyncio.run(main())"))
    async with running(str(tmp_path / "program.py")) as program:
        printed, errors = await asyncio.wait_for(program.communicate(), WITHIN)
    assert (printed.decode(), errors.decode()) == ("It is an inn.\n", "")


async def test_getting_data_from_an_agent(tmp_path: Path, play: Callable[..., None]) -> None:
    play(answers=['```json\n[{"file": "a.py", "line": 3, "problem": "off by one"}]\n```'])
    names = of_the_page("async def findings")
    assert await names["findings"](tmp_path) == [names["Finding"]("a.py", 3, "off by one")]


async def test_following_an_agent(play: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    play()
    await of_the_page("async def follow")["follow"]("work")
    assert capsys.readouterr().out == (
        "Let me look.\n[execute: ls -l]\n[changed /a]\nIt is fine.\nend_turn\n"
    )


async def test_deciding_what_an_agent_may(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    play()
    careful = of_the_page("async def careful")["careful"]
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    answers = [(await careful(f"tool {kind} x")).text for kind in ("read", "execute", "delete")]
    assert answers == ["allow_once", "allow_once", "reject_once"]
    assert asked == ["May it? x [y/N] "]


async def test_a_conversation_with_an_agent(
    play: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    play(answers=["Yes?", "I see."], capabilities={"sessionCapabilities": {"fork": {}}})
    assert await of_the_page("async def discuss")["discuss"]("Hello", "So") == ("s1", "I see.")
    assert capsys.readouterr().out == "True\n"


async def test_several_agents(play: Callable[..., None]) -> None:
    play()
    names = of_the_page("async def answered")
    assert await names["answered"]("echo well") == ("claude", "well", 1)
    play()
    assert [answer.text for answer in await names["all_of"](["echo a", "echo b"])] == ["a", "b"]


async def test_an_agent_as_a_model(tmp_path: Path, play: Callable[..., None]) -> None:
    play(answers=['{"verdict": "good", "problems": []}'])
    names = of_the_page("async def review")
    assert await names["review"](tmp_path) == names["Review"](verdict="good", problems=[])
    play(answers=["Yes?", "I see."])
    assert await of_the_page("async def converse")["converse"]("Hello", "So") == "I see."
