"""An agent that tells the tokens of its session, and not those of a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from serai.acp import Launch
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn

if TYPE_CHECKING:
    from serai.agents.ask.options import Options


class Summing(ScriptedAgent):
    """A turn takes 100 tokens in, 7 of them from a cache, and 20 out. Started again, it counts anew."""

    def __init__(self) -> None:
        super().__init__(self._turn, name="summing", capabilities=EVERYTHING)
        self._asked = 0
        self._starts = 0

    async def launch(self, options: Options) -> Launch:
        return replace(await super().launch(options), cumulative_tokens=True)

    async def _turn(self, turn: ScriptedTurn) -> None:
        if self.starts != self._starts:
            self._starts, self._asked = self.starts, 0
        self._asked += 1
        once = {"inputTokens": 100, "cachedReadTokens": 7, "outputTokens": 20, "totalTokens": 120}
        turn.tokens = {name: value * self._asked for name, value in once.items()}
        turn.say("done")
