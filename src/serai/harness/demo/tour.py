"""The demo agent's tour: an approval, a diff, a question and a queue, one after the other."""

from __future__ import annotations

from serai.harness.demo import questions, talk, tools
from serai.harness.demo.stage import DemoStage

_WORK = "15"
"""How many seconds there are to queue something in."""


async def tour(stage: DemoStage, _argument: str) -> None:
    """Show what a person decides in a session. Each step waits for them; whatever they answer, it goes on."""
    await stage.say(
        "Welcome. This tour has four stops, and nothing in it is real.\n\n"
        "**1. An approval.** Before an agent runs something, it asks. You see all of the command: allow it, "
        "deny it, say why not, or edit it first."
    )
    await tools.shell(stage, "ls -l")
    await stage.say("**2. A diff.** Before an agent changes a file, you see what would be different.")
    await tools.edit_file(stage, "")
    await stage.say(
        "**3. A question.** An agent may want to know something. Others who look see what you write."
    )
    await questions.ask(stage, "single")
    await stage.say(
        "**4. A queue.** I am busy now. Write something meanwhile: it waits in the queue, where you can edit "
        "it, move it or take it back, and I answer it next. Or *steer*: then I hear it while I work."
    )
    await talk.work(stage, _WORK)
    await stage.say("That was the tour. Say `help` and I tell you what else there is.")
