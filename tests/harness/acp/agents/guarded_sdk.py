"""An agent that works for who has signed in, on the agent side of the Python SDK: see `guarded.py`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

WORDS = [word for argument in sys.argv[1:] for word in argument.split()]
STATE = Path.home() / ".guarded"


class Guarded:
    """Asks who is there."""

    def __init__(self) -> None:
        self._client: Any = None
        self._is_in = STATE.exists()

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, client_capabilities: Any = None, **_: Any) -> schema.InitializeResponse:
        methods: list[Any] = []
        if "variables" in WORDS:
            names = [schema.AuthEnvVar(name="GUARDED_KEY"), schema.AuthEnvVar(name="GUARDED_ORG")]
            methods.append(schema.EnvVarAuthMethod(type="env_var", id="key", name="A key", vars=names))
        if "plain" in WORDS:
            methods.append(schema.AuthMethodAgent(id="browser", name="Browser", description="opens a window"))
        if "terminal" in WORDS and client_capabilities.auth and client_capabilities.auth.terminal:
            methods.append(
                schema.TerminalAuthMethod(
                    type="terminal", id="tty", name="Terminal", args=["login"], env={"GUARDED_ROLE": "guest"}
                )
            )
        return schema.InitializeResponse(
            protocol_version=1,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True, prompt_capabilities=schema.PromptCapabilities(image=True)
            ),
            agent_info=schema.Implementation(name="guarded", version="7"),
            auth_methods=methods,
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        if method_id != "browser" or "broken" in WORDS:
            raise acp.RequestError.invalid_params({"details": "the window was closed"})
        if "forgetful" not in WORDS:
            STATE.write_text("someone")
        self._is_in = True
        return schema.AuthenticateResponse()

    async def new_session(self, **_: Any) -> schema.NewSessionResponse:
        if "late" not in WORDS:
            self._check()
        return schema.NewSessionResponse(session_id=f"session-{os.getpid()}")

    async def load_session(self, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        del session_id
        if "late" not in WORDS:
            self._check()
        return schema.LoadSessionResponse()

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> schema.PromptResponse:
        self._check()
        text = acp.update_agent_message_text(f"you said {prompt[0].text}")
        await self._client.session_update(session_id=session_id, update=text)
        return schema.PromptResponse(stop_reason="end_turn")

    async def cancel(self, **_: Any) -> None:
        pass

    def _check(self) -> None:
        """As many agents do, it looks once, when it is started."""
        if not self._is_in:
            raise acp.RequestError.auth_required()


asyncio.run(acp.run_agent(cast("acp.Agent", Guarded()), use_unstable_protocol=True))
