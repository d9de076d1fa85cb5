"""The demo agent's tour: what a newcomer is asked, in this order."""

from __future__ import annotations

from harness.conversation import Conversation, prose
from serai.ahp.types import SessionInputSingleSelectQuestion, TurnState


class TestTheTour:
    async def test_the_tour_shows_an_approval_a_diff_a_question_and_a_queue(self, demo: Conversation) -> None:
        demo.start("tour")
        command = await demo.pending()
        assert (command.editable, command.edits) == (True, None)
        await demo.approve()
        edit = await demo.pending()
        assert edit.edits
        await demo.deny()
        request = await demo.request()
        assert isinstance((request.questions or [None])[0], SessionInputSingleSelectQuestion)
        await demo.answer(None)
        await demo.heard("session/inputCompleted")
        demo.steer("stop")  # it is busy for a while, so that something can be queued
        turn = await demo.end()
        assert turn.state == TurnState.COMPLETE
        assert "A queue" in prose(turn)
