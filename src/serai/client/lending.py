"""Tools that a client lends to a session and runs for its agent, and plugins that the host reads."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from serai.ahp import actions as a, commands as c, types as t
from serai.ahp.commands import AhpErrorCode
from serai.ahp.reducers import LiveSession
from serai.errors import ProtocolError, Rejected, SeraiError

__all__ = ["ClientPlugin", "ClientTool"]

_log = logging.getLogger(__name__)

# -- tools -------------------------------------------------------------------------------------------------


class ClientTool(Struct, frozen=True):
    """A tool of this client, for the agent of a session."""

    definition: t.ToolDefinition
    """Description for the agent."""
    run: Callable[[Any], Awaitable[str | t.ToolCallResult]]
    """Runs the tool with the parsed input of a call, or with its text if that is not JSON. The agent gets the
    message of an error. It is cancelled if the call ends before."""


_Open: TypeAlias = t.ToolCallPendingConfirmationState | t.ToolCallRunningState
_OPEN = (t.ToolCallPendingConfirmationState, t.ToolCallRunningState)


class Lender:
    """Answers the agent's calls of this client's tools, each of them once.

    A call of a tool that is not lent is denied: nobody else would ever answer it.
    """

    def __init__(
        self,
        client_id: str,
        dispatch: Callable[[a.StateAction], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self.tools: dict[str, ClientTool] = {}
        """Tools that are lent now, by name."""
        self._client_id = client_id
        self._dispatch = dispatch
        self._spawn = spawn
        # By turn and call: the task that answers it, until the call is over.
        self._answering: dict[tuple[str, str], asyncio.Task[None]] = {}

    def heard(self, action: a.StateAction, session: LiveSession) -> None:
        """Handle a confirmed action."""
        if isinstance(action, a.ToolCallActionBase) and session.turn is not None:
            self._take_up(session.turn.id, session.turn.calls(action.tool_call_id))
        if self._answering:
            self._let_go(session)

    def caught_up(self, session: LiveSession) -> None:
        """Take up the session's state, after a gap or for the first time."""
        self._let_go(session)
        if session.turn is not None:
            self._take_up(session.turn.id, session.turn.calls())

    def stop(self) -> None:
        """Stop all tools: the session is not followed any more."""
        answering, self._answering = self._answering, {}
        for task in answering.values():
            task.cancel()

    def _take_up(self, turn_id: str, calls: Iterable[t.ToolCallState]) -> None:
        for call in calls:
            if not isinstance(call, _OPEN) or call.tool_client_id != self._client_id:
                continue
            key = turn_id, call.tool_call_id
            tool = self.tools.get(call.tool_name)
            if key in self._answering:
                continue
            if tool is None:
                self._answering[key] = self._spawn(self._refuse(turn_id, call))
            elif isinstance(call, t.ToolCallRunningState):
                self._answering[key] = self._spawn(self._run(turn_id, call, tool))

    def _let_go(self, session: LiveSession) -> None:
        turn = session.turn
        for key, task in list(self._answering.items()):
            turn_id, call_id = key
            call = turn.call(call_id) if turn is not None and turn.id == turn_id else None
            if not isinstance(call, _OPEN):
                del self._answering[key]
                task.cancel()

    async def _run(self, turn_id: str, call: t.ToolCallRunningState, tool: ClientTool) -> None:
        try:
            result = await tool.run(_input(call.tool_input))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent waits for an answer
            _log.warning("the tool %s failed", call.tool_name, exc_info=True)
            result = _failed(str(error) or type(error).__name__)
        if isinstance(result, str):
            content = t.ToolResultTextContent(text=result)
            result = t.ToolCallResult(
                success=True, past_tense_message=f"Ran {call.display_name}", content=[content]
            )
        await self._complete(turn_id, call, result)

    async def _refuse(self, turn_id: str, call: _Open) -> None:
        why = f"this client has no tool {call.tool_name!r}"
        denial = a.SessionToolCallConfirmedAction(
            turn_id=turn_id,
            tool_call_id=call.tool_call_id,
            approved=False,
            reason=t.ToolCallCancellationReason.DENIED.value,
            reason_message=why,
        )
        try:
            await self._dispatch(denial)
        except Rejected:
            # It runs already, so the host may have nothing to deny. Its agent still waits.
            await self._complete(turn_id, call, _failed(why))
        except SeraiError as error:
            _log.warning("a call of %s could not be denied: %s", call.tool_name, error)

    async def _complete(self, turn_id: str, call: _Open, result: t.ToolCallResult) -> None:
        done = a.SessionToolCallCompleteAction(turn_id=turn_id, tool_call_id=call.tool_call_id, result=result)
        try:
            await self._dispatch(done)
        except SeraiError as error:
            _log.warning("the result of %s was not taken: %s", call.tool_name, error)


def _input(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return text


def _failed(why: str) -> t.ToolCallResult:
    return t.ToolCallResult(
        success=False, past_tense_message="The tool did not do it", error=t.ToolCallError(message=why)
    )


# -- plugins -----------------------------------------------------------------------------------------------


class ClientPlugin(Struct, frozen=True):
    """A plugin of this client, in the layout of Open Plugins."""

    name: str
    """Name for people, unique in the session."""
    files: Mapping[str, str | bytes]
    """Content of each file, by its path: `skills/polish/SKILL.md`, `agents/reviewer.md` and so on."""
    enabled: bool = True

    def customization(self, uri: t.URI) -> t.ClientPluginCustomization:
        """Return this plugin in the form of AHP. By the nonce a host knows files that it has read."""
        content = msgspec.msgpack.encode(sorted(self.files.items()))
        nonce = hashlib.blake2b(content, digest_size=16).hexdigest()
        return t.ClientPluginCustomization(id=uri, uri=uri, name=self.name, enabled=self.enabled, nonce=nonce)


Plugins: TypeAlias = dict[t.URI, ClientPlugin]
"""Plugins by the URIs under which the host reads them."""


def placed(plugins: Sequence[ClientPlugin], client_id: str, session: t.URI) -> Plugins:
    """Return the plugins of a session by URI.

    Raises:
        ValueError: Two of them have the same name.
    """
    base = f"serai-plugin://{quote(client_id, safe='')}/{quote(session, safe='')}"
    found = {f"{base}/{quote(plugin.name, safe='')}": plugin for plugin in plugins}
    if len(found) != len(plugins):
        raise ValueError("two plugins of a session have the same name")
    return found


def answer_about(
    published: Iterable[Plugins], params: Any
) -> c.ResourceReadResult | c.ResourceListResult | None:
    """Answer a request of the host; `None` if it is not about a published plugin.

    Raises:
        ProtocolError: The plugin has no such file or folder.
    """
    if isinstance(params, c.ResourceReadParams | c.ResourceListParams):
        for base, plugin in (found for plugins in published for found in plugins.items()):
            if f"{params.uri}/".startswith(f"{base}/"):
                path = unquote(params.uri.removeprefix(base)).strip("/")
                return (_read if isinstance(params, c.ResourceReadParams) else _list)(plugin, path)
    return None


def _read(plugin: ClientPlugin, path: str) -> c.ResourceReadResult:
    content = plugin.files.get(path)
    if content is None:
        raise ProtocolError(f"{plugin.name} has no file {path!r}", number=AhpErrorCode.NOT_FOUND)
    if isinstance(content, str):
        return c.ResourceReadResult(data=content, encoding=c.ContentEncoding.UTF8.value)
    data = base64.b64encode(content).decode()
    return c.ResourceReadResult(data=data, encoding=c.ContentEncoding.BASE64.value)


def _list(plugin: ClientPlugin, path: str) -> c.ResourceListResult:
    below = f"{path}/" if path else ""
    kinds: dict[str, c.ResourceType] = {}
    for file in plugin.files:
        if file.startswith(below):
            name, _, deeper = file.removeprefix(below).partition("/")
            kinds[name] = c.ResourceType.DIRECTORY if deeper else c.ResourceType.FILE
    if path and not kinds:
        raise ProtocolError(f"{plugin.name} has no folder {path!r}", number=AhpErrorCode.NOT_FOUND)
    entries = [c.DirectoryEntry(name=name, type=kind.value) for name, kind in sorted(kinds.items())]
    return c.ResourceListResult(entries=entries)
