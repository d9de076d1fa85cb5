"""An agent on the agent side of the Python SDK, which knows nothing of this client.

What it does in a turn is the first word of the prompt: the name of one of its methods that begin with `do_`.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import acp
from acp import schema


class Independent:
    """Speaks the protocol as its SDK has it."""

    def __init__(self) -> None:
        self._client: Any = None
        self._sessions = 0
        self._stopped: dict[str, asyncio.Event] = {}
        self._model = "small"

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    # -- the protocol --------------------------------------------------------------------------------------

    async def initialize(self, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=1,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            agent_info=schema.Implementation(name="independent", version="1"),
            auth_methods=[schema.AuthMethodAgent(id="key", name="Key")],
        )

    async def new_session(self, cwd: str, mcp_servers: Any = None, **more: Any) -> schema.NewSessionResponse:
        self._sessions += 1
        session = f"session-{self._sessions}"
        await self._send(
            session,
            schema.AvailableCommandsUpdate(
                session_update="available_commands_update",
                available_commands=[schema.AvailableCommand(name="early", description=cwd)],
            ),
        )
        names = [server.name for server in mcp_servers or []] + list(more.get("additional_directories") or [])
        await self._say(session, " ".join(names))
        return schema.NewSessionResponse(
            session_id=session,
            modes=schema.SessionModeState(
                current_mode_id="ask",
                available_modes=[
                    schema.SessionMode(id="ask", name="Ask"),
                    schema.SessionMode(id="do", name="Do"),
                ],
            ),
            config_options=self._options(),
        )

    def _options(self) -> list[Any]:
        return [
            schema.SessionConfigOptionSelect(
                id="model",
                name="Model",
                type="select",
                category="model",
                current_value=self._model,
                options=[
                    schema.SessionConfigSelectOption(value="small", name="Small"),
                    schema.SessionConfigSelectOption(value="large", name="Large"),
                ],
            )
        ]

    async def load_session(self, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        if session_id == "lost":
            raise acp.RequestError.resource_not_found("lost")
        await self._send(session_id, acp.update_user_message_text("earlier question"))
        await self._say(session_id, "earlier answer")
        return schema.LoadSessionResponse()

    async def resume_session(self, session_id: str, **_: Any) -> schema.ResumeSessionResponse:
        await self._say(session_id, "told although nobody asked")
        return schema.ResumeSessionResponse()

    async def fork_session(self, session_id: str, **_: Any) -> schema.ForkSessionResponse:
        await self._say(f"{session_id}-fork", "the common past")
        return schema.ForkSessionResponse(session_id=f"{session_id}-fork")

    async def list_sessions(self, cursor: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        page = int(cursor or 0)
        return schema.ListSessionsResponse(
            sessions=[schema.SessionInfo(session_id=f"old-{page}", cwd="/", title=f"Old {page}")],
            next_cursor=str(page + 1) if page < 2 else None,
        )

    async def close_session(self, **_: Any) -> schema.CloseSessionResponse:
        return schema.CloseSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        await self._send(
            session_id,
            schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode_id),
        )
        return schema.SetSessionModeResponse()

    async def set_config_option(self, value: Any, **_: Any) -> schema.SetSessionConfigOptionResponse:
        self._model = value
        return schema.SetSessionConfigOptionResponse(config_options=self._options())

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        if method_id != "key":
            raise acp.RequestError.auth_required({"method": method_id})
        return schema.AuthenticateResponse()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> schema.PromptResponse:
        self._stopped[session_id] = asyncio.Event()
        word, *words = next(block.text for block in prompt if block.type == "text").split()
        reason = await getattr(self, f"do_{word}")(session_id, *words)
        return schema.PromptResponse(
            stop_reason=reason or "end_turn",
            usage=schema.Usage(total_tokens=5, input_tokens=3, output_tokens=2),
        )

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._stopped[session_id].set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method, **params}

    # -- what a turn can be --------------------------------------------------------------------------------

    async def do_say(self, session: str, *words: str) -> None:
        for word in words:
            await self._say(session, word)

    async def do_work(self, session: str) -> None:
        """A turn as agents have them: thought, plan, tool with a permission, edit, usage."""
        await self._send(session, acp.update_agent_thought_text("hm"))
        await self._send(
            session, acp.update_plan([acp.plan_entry("look", priority="high", status="pending")])
        )
        await self._send(
            session,
            acp.start_tool_call("call", "ls", kind="execute", status="pending", raw_input={"command": "ls"}),
        )
        answer = await self._client.request_permission(
            session_id=session,
            tool_call=schema.ToolCallUpdate(tool_call_id="call", title="ls", kind="execute"),
            options=[
                schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        await self._send(
            session,
            acp.update_tool_call(
                "call",
                status="completed" if answer.outcome.outcome == "selected" else "failed",
                content=[
                    acp.tool_content(acp.text_block("README.md")),
                    acp.tool_diff_content("/a", "new", "old"),
                    acp.tool_terminal_ref("t1"),
                ],
            ),
        )
        await self._send(
            session,
            schema.UsageUpdate(
                session_update="usage_update", used=1, size=10, cost=schema.Cost(amount=0.5, currency="USD")
            ),
        )
        await self._send(
            session, schema.SessionInfoUpdate(session_update="session_info_update", title="Work")
        )

    async def do_files(self, session: str) -> None:
        read = await self._client.read_text_file(session_id=session, path="/notes")
        await self._client.write_text_file(session_id=session, path="/copy", content=read.content)
        try:
            await self._client.read_text_file(session_id=session, path="/none")
        except acp.RequestError as error:
            await self._say(session, str(error.code))

    async def do_terminal(self, session: str) -> None:
        terminal = await self._client.create_terminal(session_id=session, command="ls", args=["-l"])
        where = {"session_id": session, "terminal_id": terminal.terminal_id}
        ended = await self._client.wait_for_terminal_exit(**where)
        output = await self._client.terminal_output(**where)
        await self._client.kill_terminal(**where)
        await self._client.release_terminal(**where)
        await self._say(session, f"{output.output} {output.truncated} {ended.exit_code}")

    async def do_elicit(self, session: str) -> None:
        answer = await self._client.create_elicitation(
            message="your name?",
            mode=schema.ElicitationFormSessionMode(
                session_id=session,
                requested_schema=schema.ElicitationSchema(
                    properties={"name": schema.ElicitationStringPropertySchema(type="string")}
                ),
            ),
        )
        await self._say(session, f"{answer.action} {getattr(answer, 'content', None)}")

    async def do_wait(self, session: str) -> str:
        await self._say(session, "waiting")
        await self._stopped[session].wait()
        return "cancelled"

    async def do_storm(self, session: str, count: str) -> str | None:
        requests = [
            self._client.request_permission(
                session_id=session,
                tool_call=schema.ToolCallUpdate(tool_call_id=f"call-{number}"),
                options=[schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")],
            )
            for number in range(int(count))
        ]
        answers = await asyncio.gather(*requests)
        await self._say(session, ",".join(sorted({answer.outcome.outcome for answer in answers})))
        return "cancelled" if self._stopped[session].is_set() else None

    async def do_crash(self, session: str) -> None:
        await self._say(session, "last words")
        await asyncio.sleep(0.05)
        os._exit(5)

    async def do_fail(self, session: str) -> None:
        raise acp.RequestError.auth_required({"session": session})

    async def _say(self, session: str, text: str) -> None:
        await self._send(session, acp.update_agent_message_text(text))

    async def _send(self, session: str, update: Any) -> None:
        await self._client.session_update(session_id=session, update=update)


asyncio.run(acp.run_agent(cast("acp.Agent", Independent()), use_unstable_protocol=True))
