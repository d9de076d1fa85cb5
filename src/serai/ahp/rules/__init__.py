"""The rules: decide about an action before it is applied.

judge(state of the channel, action, sender) -> accept | reject | defer, with the reason
"""

from __future__ import annotations

from typing import Any

from serai.ahp import actions as a
from serai.ahp.reducers import CHANNEL_TYPES, LiveRoot, LiveSession, LiveState, LiveTerminal
from serai.ahp.rules.config import problem_with_change
from serai.ahp.rules.session import ACCEPTED, RULES, Judgement, Verdict, judge_title, rejected
from serai.ahp.types import TerminalClientClaim
from serai.ahp.wire import Unknown, Value

__all__ = ["CLIENT_ACTIONS", "Judgement", "Verdict", "judge", "rejected"]

CLIENT_ACTIONS: frozenset[type[Value]] = frozenset({
    *RULES,
    a.RootConfigChangedAction,
    a.TerminalInputAction,
    a.TerminalResizedAction,
    a.TerminalClaimedAction,
    a.TerminalTitleChangedAction,
    a.TerminalClearedAction,
})  # fmt: skip
"""Actions that a client may dispatch. Only the host dispatches the others."""

_NAMES = {channel.live: channel.name for channel in CHANNEL_TYPES}


def judge(state: LiveState[Any], action: a.StateAction, sender: str) -> Judgement:
    """Decide about an action that a client has dispatched, given the state of its channel."""
    if isinstance(action, Unknown):
        return rejected("unknown_action", f"this host knows no action {action.raw.get('type')!r}")
    if str(type(action).__struct_config__.tag).partition("/")[0] != _NAMES[type(state)]:
        return rejected("wrong_channel", "the action belongs to another kind of channel")
    if type(action) not in CLIENT_ACTIONS:
        return rejected("server_only", "only the host dispatches this action")
    match state:
        case LiveSession():
            return RULES[type(action)](state, action, sender)
        case LiveTerminal():
            return _judge_terminal(state, action, sender)
        case LiveRoot():
            return _judge_root(state, action)
        case _:
            return ACCEPTED


def _judge_terminal(terminal: LiveTerminal, action: a.StateAction, sender: str) -> Judgement:
    if isinstance(action, a.TerminalClaimedAction):
        claim = terminal.head.claim
        if not isinstance(claim, TerminalClientClaim) or claim.client_id != sender:
            return rejected("not_holder", "only who holds the terminal can hand it over")
    if isinstance(action, a.TerminalInputAction) and terminal.head.exit_code is not None:
        return rejected("terminal_exited", f"the process has ended with code {terminal.head.exit_code}")
    return judge_title(action.title) if isinstance(action, a.TerminalTitleChangedAction) else ACCEPTED


def _judge_root(root: LiveRoot, action: a.StateAction) -> Judgement:
    if not isinstance(action, a.RootConfigChangedAction) or root.head.config is None:
        return rejected("no_config", "this host has no settings")
    problem = problem_with_change(root.head.config, action.config, replace=bool(action.replace))
    return rejected("bad_config", problem) if problem else ACCEPTED
