"""Hooks of a model session: commands that run at certain moments, as in Claude Code.

A hook gets JSON on its standard input. It refuses with the exit code 2 and the reason on its standard error,
or with 0 and JSON that says so. Any other code is a failure of the hook, which is reported and changes
nothing. But a hook that decides about a call and takes too long refuses it, since nobody knows what it would
have said.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

from serai.ahp.types import HookCustomization
from serai.customizations.containers import Definition
from serai.customizations.servers import members
from serai.customizations.trees import DiskTree
from serai.machine.processes.processes import beginning, brief, feed
from serai.machine.safe_paths import persons_umask

_SECONDS = 60.0
_MOST_SECONDS = 600.0
_MOST_BYTES = 64 * 1024
"""Most bytes of a hook's output, and of its error output, that are kept."""
_REFUSED = 2
_SHELL = "/bin/sh"

_NAMES = {
    "edit_file": "Edit",
    "http_request": "WebFetch",
    "list_directory": "LS",
    "read_file": "Read",
    "run_command": "Bash",
    "search_files": "Grep",
    "write_file": "Write",
}
"""The names of our tools in hooks that were written for Claude Code."""


class _HookEvent(StrEnum):
    """The moments that have hooks. Hooks for other moments are ignored."""

    PROMPT = "UserPromptSubmit"
    BEFORE_CALL = "PreToolUse"
    AFTER_CALL = "PostToolUse"
    STOP = "Stop"


class _Hook(NamedTuple):
    event: _HookEvent
    matcher: str
    command: str
    seconds: float
    source: str
    """The hook's file, for messages."""
    plugin: str | None
    """The folder of the hook's plugin."""

    def fits(self, tool: str) -> bool:
        """Tell whether the hook is for a tool: its matcher fits one of the tool's names."""
        names = {tool, _NAMES.get(tool, tool)}
        if self.matcher in {"", "*"}:
            return True
        try:
            return any(re.fullmatch(self.matcher, name) for name in names)
        except re.error:
            return self.matcher in names


class _HookAnswer(NamedTuple):
    refusal: str | None = None
    context: str = ""
    """Text for the model."""


class Hooks:
    """The hooks of one turn. Cancelling a method ends the command that runs.

    Args:
        definitions: The session's customisations; hooks that are not enabled or not runnable are ignored.
        folder: The working directory of the commands.
        environ: Their environment, which has no secrets.
        session: The session's URI.
        notice: Shows a person that a hook has failed.
    """

    def __init__(
        self,
        definitions: Iterable[Definition],
        folder: Path,
        environ: Mapping[str, str],
        session: str,
        notice: Callable[[str], Awaitable[None]],
    ) -> None:
        self._hooks = [
            hook
            for one in definitions
            if isinstance(one.child, HookCustomization) and one.enabled and one.runnable
            for hook in _hooks_of(one)
        ]
        self._folder = folder
        self._environ = {**environ, "CLAUDE_PROJECT_DIR": str(folder)}
        self._session = session
        self._notice = notice
        self._reported: set[str] = set()
        self.context: list[str] = []
        """Text of the hooks that ran when the turn began, for the model."""

    async def prompt(self, text: str) -> str | None:
        """Run the hooks for the beginning of a turn. Returns why it may not begin; `None` when it may."""
        said = await self._run(_HookEvent.PROMPT, {"prompt": text})
        self.context = [one.context for one in said if one.context]
        return next((one.refusal for one in said if one.refusal), None)

    async def before_call(self, name: str, given: Mapping[str, Any]) -> str | None:
        """Run the hooks before a tool runs. Returns why it may not run; `None` when it may."""
        said = await self._run(_HookEvent.BEFORE_CALL, self._call(name, given), name)
        return next((f"a hook refused the call: {one.refusal}" for one in said if one.refusal), None)

    async def after_call(self, name: str, given: Mapping[str, Any], output: str) -> str | None:
        """Run the hooks after a tool has succeeded. Returns their text for the model."""
        about = {**self._call(name, given), "tool_response": {"output": output}}
        said = await self._run(_HookEvent.AFTER_CALL, about, name)
        return "\n".join(one.refusal or one.context for one in said).strip() or None

    async def stopped(self) -> None:
        """Run the hooks for a complete answer. Their output changes nothing."""
        await self._run(_HookEvent.STOP, {"stop_hook_active": False})

    def _call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a call in the form that hooks know."""
        known: dict[str, Any] = {}
        match given:
            case {"path": str(path)}:
                known["file_path"] = os.path.normpath(self._folder / path)
            case {"words": [*words]} if name == "run_command":
                known["command"] = shlex.join(map(str, words))
            case _:
                pass
        return {"tool_name": _NAMES.get(name, name), "tool_input": {**known, **given}}

    async def _run(
        self, event: _HookEvent, about: Mapping[str, Any], tool: str | None = None
    ) -> list[_HookAnswer]:
        """Run the hooks of an event, one after the other, up to the first that refuses."""
        what = {"session_id": self._session, "cwd": str(self._folder), "hook_event_name": event.value}
        data = json.dumps({**what, **about}, ensure_ascii=False).encode(errors="replace")
        said: list[_HookAnswer] = []
        for hook in self._hooks:
            if hook.event is event and (tool is None or hook.fits(tool)):
                said.append(await self._ask(hook, data))
                if said[-1].refusal:
                    break
        return said

    async def _ask(self, hook: _Hook, data: bytes) -> _HookAnswer:
        environ = (
            self._environ if hook.plugin is None else self._environ | {"CLAUDE_PLUGIN_ROOT": hook.plugin}
        )
        try:
            async with (
                brief(
                    _SHELL,
                    "-c",
                    hook.command,
                    folder=self._folder,
                    environment=environ,
                    stdin=PIPE,
                    stderr=PIPE,
                    umask=persons_umask(),
                ) as process,
                asyncio.timeout(hook.seconds),
            ):
                _, *both = await asyncio.gather(
                    feed(process, data),
                    beginning(process.stdout, _MOST_BYTES),
                    beginning(process.stderr, _MOST_BYTES),
                )
                printed, words = (said.decode(errors="replace").strip() for said in both)
                code = await process.wait()
        except TimeoutError:
            problem = f"it took more than {hook.seconds:g} s"
            await self._fail(hook, problem)
            return _HookAnswer(refusal=problem if hook.event is _HookEvent.BEFORE_CALL else None)
        except (OSError, ValueError) as error:
            await self._fail(hook, str(error))
            return _HookAnswer()
        if code == _REFUSED:
            return _HookAnswer(refusal=words or "it gave no reason")
        if code != 0:
            await self._fail(hook, f"it ended with the code {code}: {words[:200]}")
            return _HookAnswer()
        return _read_answer(printed, hook.event)

    async def _fail(self, hook: _Hook, problem: str) -> None:
        """Report a hook that has failed, once in a turn."""
        text = f"A hook of {hook.source} for {hook.event.value} failed: {problem}"
        if text not in self._reported:
            self._reported.add(text)
            await self._notice(text)


def _hooks_of(definition: Definition) -> Iterator[_Hook]:
    """Yield the hooks of a file that are supported: commands, for the known events."""
    tree = definition.tree
    plugin = str(tree.folder) if isinstance(tree, DiskTree) else None
    for event in _HookEvent:
        for group in _items(definition.fields.get(event.value)):
            matcher = group.get("matcher")
            for item in _items(group.get("hooks")):
                command, seconds = item.get("command"), item.get("timeout")
                if item.get("type") == "command" and isinstance(command, str):
                    limit = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else _SECONDS
                    yield _Hook(
                        event,
                        matcher if isinstance(matcher, str) else "",
                        command,
                        min(limit, _MOST_SECONDS),
                        tree.shown(definition.path),
                        plugin,
                    )


def _items(value: Any) -> list[dict[str, Any]]:
    return [members(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _read_answer(printed: str, event: _HookEvent) -> _HookAnswer:
    """Return the answer of a hook that succeeded: JSON in Claude Code's words, or plain text."""
    value: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        value = members(json.loads(printed))
    special = members(value.get("hookSpecificOutput"))
    reason = special.get("permissionDecisionReason") or value.get("reason") or value.get("stopReason")
    # A hook cannot have a person asked: `ask` counts as a refusal.
    is_refused = (
        value.get("decision") == "block"
        or special.get("permissionDecision") in {"deny", "ask"}
        or value.get("continue") is False
    )
    if is_refused:
        return _HookAnswer(refusal=str(reason or "it gave no reason"))
    if value:
        return _HookAnswer(context=str(special.get("additionalContext") or ""))
    return _HookAnswer(context=printed if event is _HookEvent.PROMPT else "")
