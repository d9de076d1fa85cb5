"""An agent that plays a conversation that was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from serai.agents.ask.transcript import TranscriptLine, read_transcript
from serai.agents.testing.pipes import Ended, Inside, Wire
from serai.errors import FileUnreadable
from serai.machine.processes.child import Exit

__all__ = ["Replay"]


class Replay(Inside):
    """Says again what an agent has said, when the client asks again what it has asked.

    `agents.ask("claude", ..., record="talk.ndjson")` records. What the client asks has to come in the same
    order; its parameters may differ. A file with several conversations is played one for each start. A client
    that goes another way is answered with an error that says what was expected.

    Args:
        path: The file.
        name: What the agent is called.

    Raises:
        FileUnreadable: The file is not there, or is no transcript.
    """

    def __init__(self, path: Path | str, *, name: str = "replay") -> None:
        super().__init__(name)
        self._conversations: list[list[TranscriptLine]] = []
        has_ended = True
        for entry in read_transcript(Path(path)):
            if has_ended:
                self._conversations.append([])
            self._conversations[-1].append(entry)
            has_ended = entry.origin == "end"
        if not self._conversations:
            raise FileUnreadable(f"{path} is empty")

    async def play(self, wire: Wire) -> None:
        """Be the agent. Who starts it calls this."""
        place = min(self.starts, len(self._conversations)) - 1
        ids: dict[str, Any] = {}  # of the requests then: what they are now
        for entry in self._conversations[place]:
            match entry.origin:
                case "client":
                    if not await self._expect(entry.message, wire, ids):
                        return
                case "agent":
                    self._say(entry, wire, ids)
                case "log":
                    wire.log(entry.text or "")
                case "end" if entry.exit_code:
                    raise Ended(Exit(code=entry.exit_code))
                case _:
                    break
        while (message := await wire.receive()) is not None:
            self._refuse(message, "nothing", wire)

    async def _expect(self, then: dict[str, Any], wire: Wire, ids: dict[str, Any]) -> bool:
        """Wait for what the client said then. Returns whether it has not ended."""
        while (message := await wire.receive()) is not None:
            if message.get("method") == then.get("method"):
                if "method" in then and "id" in then:
                    ids[str(then["id"])] = message["id"]
                return True
            self._refuse(message, then.get("method", "an answer"), wire)
        return False

    def _say(self, entry: TranscriptLine, wire: Wire, ids: dict[str, Any]) -> None:
        message = entry.message
        if message is None:
            wire.write((entry.text or "").encode())
            return
        if "method" not in message and "id" in message:
            message = {**message, "id": ids.get(str(message["id"]), message["id"])}
        wire.write(msgspec.json.encode(message))

    def _refuse(self, message: dict[str, Any], expected: str, wire: Wire) -> None:
        if "method" in message and "id" in message:
            text = f"{message['method']} was not asked then: {expected} was"
            wire.send(id=message["id"], error={"code": -32603, "message": text})
