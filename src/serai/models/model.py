"""An agent as a model of pydantic-ai, and models with the same defaults."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, Unpack

import anyio
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, check_allow_model_requests
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, merge_model_settings

from serai.agents.ask.ask import AgentClient, client
from serai.agents.ask.options import Options, checked_options
from serai.agents.ask.prompt import Part
from serai.agents.ask.session import WireSession
from serai.agents.ask.start import AgentRef
from serai.agents.ask.turn import AgentStream
from serai.agents.several import Candidate
from serai.models.history import SYSTEM, AgentPrompt, prompt_for, with_instructions
from serai.models.problems import refuse_tools, warn_of_history, warn_of_settings
from serai.models.response import AgentResponse

_PROFILE = ModelProfile(
    supports_tools=False,
    supports_json_schema_output=False,
    supports_json_object_output=False,
    supports_image_output=False,
    supports_thinking=False,
    supported_native_tools=frozenset(),
    default_structured_output_mode="prompted",
    supports_inline_system_prompts=True,  # to an agent, everything is a prompt: there is nothing to mark off
    context_window=None,
)


class AgentModel(Model[Any]):
    """An agent that answers the requests of a pydantic-ai `Agent`.

    The agent is started for each request and is gone after it; `AgentModel.of` asks a session that is open.
    Cancelling a run cancels the agent's turn. What the agent does with its own tools is part of the answer:
    native tool calls and returns, which nobody executes again.

    Errors are pydantic-ai's: `ModelAPIError` and below, on which a `FallbackModel` goes on to the next, with
    Serai's error as `__cause__`. A spent budget is a `UsageLimitExceeded`.

    Args:
        agent: The agent's id or another name of it, a description of it, or `agents.client(…)`.
        settings: Settings of pydantic-ai. An agent takes none of them: a warning lists what is ignored.
        **options: See `serai.agents.Options`; they go over those of a client.

    Raises:
        TypeError: There is no such option, or two exclude each other.
    """

    def __init__(
        self,
        agent: Candidate,
        *,
        settings: ModelSettings | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(settings=settings, profile=_PROFILE)
        known = agent if isinstance(agent, AgentClient) else client(agent)
        self._client = known.having(**options)
        self._session: WireSession | None = None
        self._sent: tuple[str | None, str | None] = (None, None)
        """The session's id and the instructions that were sent last. A renewed session has another id."""

    @classmethod
    def of(cls, session: WireSession, *, settings: ModelSettings | None = None) -> Self:
        """A model that asks an open session: its conversation goes on, and it stays open.

        Of a message history, only what came after the session's own last answer is sent.
        """
        model = cls(session.host.name, settings=settings)
        model._session = session
        return model

    @property
    def model_name(self) -> str:
        """The agent's name, and its model's if one was chosen: `claude/sonnet`."""
        model = self._client.defaults.get("model")
        return f"{self._client.name}/{model}" if model else self._client.name

    @property
    def system(self) -> str:
        """The provider: `serai`."""
        return SYSTEM

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask the agent, and wait for the whole answer. Cancelling it cancels the agent's turn.

        Raises:
            ModelAPIError: The agent cannot be asked, or its turn has failed.
            UsageLimitExceeded: The budget of a `CostTracker` is spent.
            UserError: Something is wanted that no agent has: function tools, for instance.
        """
        async with self.request_stream(messages, model_settings, model_request_parameters) as response:
            async for _ in response:
                pass
            return response.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - pydantic-ai gives it
    ) -> AsyncGenerator[StreamedResponse]:
        """Ask the agent, and follow the answer while it comes. Leaving the block cancels the agent's turn.

        Raises:
            ModelAPIError: As for `request`, here or while the answer comes.
        """
        check_allow_model_requests()
        agent = self._client.name
        settings = merge_model_settings(self.settings, model_settings)
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        refuse_tools(agent, parameters)
        prompt = prompt_for(
            messages,
            instructions=[part.content for part in self._get_instruction_parts(messages, parameters) or ()],
            session_id=self._session_id,
        )
        warn_of_settings(agent, dict(settings or {}))
        warn_of_history(agent, prompt)
        turn = self._asked(prompt)
        response = AgentResponse(parameters, turn=turn, name=self.model_name)
        response.provider_response_id = self._session_id
        try:
            await response.began()
            yield response
        except BaseException:
            self._sent = (None, None)  # the agent may not have got it
            raise
        finally:
            # pydantic-ai waits within cancel scopes, which cancel again and again.
            with anyio.CancelScope(shield=True):
                await turn.close()

    @property
    def _session_id(self) -> str | None:
        """The id of the session that is continued; `None` for a new one."""
        if self._session is not None:
            return self._session.id
        return self._client.defaults.get("load") or self._client.defaults.get("resume")

    def _asked(self, prompt: AgentPrompt) -> AgentStream:
        """Begin the turn: in the open session, else with an agent that is ended after it."""
        if self._session is not None:
            session_id, sent_before = self._sent
            parts = with_instructions(prompt, sent_before if session_id == self._session.id else None)
            self._sent = (self._session.id, prompt.standing)
            return self._session.stream(parts)
        # An agent with a place for a system prompt gets the instructions there.
        texts = [text for text in (self._client.defaults.get("system_prompt"), prompt.standing) if text]
        parts: list[Part] = list(prompt.parts) or [texts.pop()] if texts else list(prompt.parts)
        more: Options = {"system_prompt": "\n\n".join(texts)} if texts else {}
        return self._client.stream(parts, **more)


def agent_provider(**defaults: Unpack[Options]) -> Callable[..., AgentModel]:
    """Return a function that makes models with these defaults.

        models = agent_provider(cwd=project)
        agent = Agent(models("claude", model="sonnet"))

    Raises:
        TypeError: There is no such option, or two exclude each other.
    """
    checked = checked_options(defaults)

    def make(agent: AgentRef, **options: Unpack[Options]) -> AgentModel:
        return AgentModel(client(agent, **checked), **options)

    return make
