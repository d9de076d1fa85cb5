"""The customisations of a session: those of its folder and of its active client, as people switched them.

They are found in threads; no session waits for that. The result is compared with the session's state, and the
difference is published as the smallest actions.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PromptCustomization, SkillCustomization
from serai.ahp.wire import Unknown
from serai.completions.names import Prompt
from serai.customizations.changes import combined, difference
from serai.customizations.containers import Customizations, Definition
from serai.host.clients import Clients
from serai.host.customizations.folders import CustomizedFolders
from serai.host.customizations.plugins import PublishedPlugins
from serai.host.session.core import SessionCore
from serai.host.surroundings.files import directory_of

TOGGLES = "serai.toggles"
"""Name, in a session's `_meta`, of the containers that people switched on or off. Only the host writes it."""


class SessionCustomizations:
    """The customisations of one session."""

    def __init__(self, session: SessionCore, clients: Clients, folders: CustomizedFolders) -> None:
        self._session = session
        self._folders = folders
        self._folder = self._folders.enter(directory_of(session.live.head.summary.working_directory))
        self._published = PublishedPlugins(session, clients, folders, self._published_changed)
        self._is_attending = False

    # -- when to look --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Look for the first time, without making the session wait."""
        self._folder.look(self._show)
        self._published.publish(self._session.live.head.active_client)

    def attend(self) -> None:
        """Look once a second while someone follows the session or a turn runs. Call this on changes."""
        session = self._session
        is_followed = session.journal.subscriptions.is_followed(session.uri)
        wanted = not session.is_closed and (is_followed or session.live.turn is not None)
        if wanted != self._is_attending:
            self._is_attending = wanted
            if wanted:
                self._folder.follow(self._show)
            else:
                self._folder.unfollow(self._show)

    def turn_begins(self) -> None:
        """Look at the beginning of a turn, so that recent changes count in it."""
        if self._is_attending:
            self._folder.look()
        self.attend()

    def close(self) -> None:
        """Stop looking: the session is closed."""
        self.attend()
        self._folders.leave(self._folder)

    async def definitions(self) -> tuple[Definition, ...]:
        """Return the present definitions of agents, skills and the like. Cancelling changes nothing."""
        await self._folder.catch_up()
        self._show()
        return self._together().definitions

    def prompts(self) -> Iterator[Prompt]:
        """Return the prompts and skills that people are offered; some skills are for the model alone."""
        hidden = {item.child.id for item in self._together().definitions if not item.user_invocable}
        for container in self._session.live.head.customizations or ():
            if not getattr(container, "enabled", False):
                continue
            for child in getattr(container, "children", None) or ():
                match child:
                    case SkillCustomization() if child.id not in hidden:
                        yield Prompt(child.name, child.description or "", child.uri, "skill")
                    case PromptCustomization():
                        yield Prompt(child.name, child.description or "", child.uri, "prompt")
                    case _:
                        pass

    # -- switches ------------------------------------------------------------------------------------------

    def refused(self, action: a.StateAction) -> Judgement | None:
        """Refuse to switch a container on whose folder is not trusted; else return `None`."""
        found, folder = self._folder.found, self._folder
        if not isinstance(action, a.SessionCustomizationToggledAction) or not action.enabled:
            return None
        if found is None or action.id not in found.locked:
            return None
        if folder.ask_trust():
            folder.look(self._show)
            return None
        remedy = f"serai config trust {shlex.quote(str(folder.directory))}"
        return rejected(
            "not_trusted",
            f"the folder {folder.directory} is not trusted, so nothing of it runs; to trust it: {remedy}",
        )

    def toggled(self, action: a.SessionCustomizationToggledAction) -> None:
        """Remember a client's switch, also for when the container is found again."""
        meta = self._session.live.head.meta or {}
        known = self._session.live.head.customizations or ()
        if any(not isinstance(container, Unknown) and container.id == action.id for container in known):
            toggles = {**self._toggles(), action.id: action.enabled}
            self._session.act(a.SessionMetaChangedAction(meta={**meta, TOGGLES: toggles}))

    def _toggles(self) -> dict[str, bool]:
        return (self._session.live.head.meta or {}).get(TOGGLES, {})

    # -- clients -------------------------------------------------------------------------------------------

    def active_client_changed(self) -> None:
        """Take over the plugins of the active client, after it has changed."""
        self._published.publish(self._session.live.head.active_client)

    def client_left(self, client_id: str) -> None:
        """Remove the plugins of a client that is gone, unless it comes back soon."""
        self._published.client_left(client_id)

    def _published_changed(self) -> None:
        if self._folder.found is None:
            self._folder.look(self._show)
        else:
            self._show()

    # -- showing -------------------------------------------------------------------------------------------

    def _together(self) -> Customizations:
        return combined(self._folder.found or Customizations(), self._published.shown, self._toggles())

    def _show(self) -> None:
        """Publish the customisations in the session's state, while it is in memory."""
        if self._folder.found is None or self._session.is_closed:
            return
        # Compared as the state has it, so that a secret in some description is not a change for ever.
        wanted = self._session.redactor.redact_value(self._together().containers, observed=True)
        for action in difference(self._session.live.head.customizations, wanted):
            self._session.act(action)
