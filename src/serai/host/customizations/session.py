"""The customisations of a session: what its folder and its active client have, as its people switched it.

Found in threads; no session waits for it. What is shown is compared with what the session's state has, and
the difference happens as the smallest actions.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.wire import Unknown
from serai.customizations.changes import combined, difference
from serai.customizations.containers import Customizations, Definition
from serai.host.customizations.plugins import PublishedPlugins
from serai.host.project import directory_of

if TYPE_CHECKING:
    from serai.host.session.session import Session

TOGGLES = "serai.toggles"
"""In a session's `_meta`: which containers people switched on or off, by id. Only the host writes it."""


class SessionCustomizations:
    """The customisations of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._folders = session.host.customized_folders
        self._folder = self._folders.enter(directory_of(session.live.head.summary.working_directory))
        self._published = PublishedPlugins(session, self._published_changed)
        self._is_attending = False
        self._closed = False

    # -- when to look --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The session is new: look for the first time, without anyone waiting for it."""
        self._folder.look(self._show)
        self._published.publish(self._session.live.head.active_client)

    def attend(self) -> None:
        """Look now and then while someone follows it or a turn runs. To be called when that changes."""
        session = self._session
        is_followed = session.journal.subscriptions.is_followed(session.uri)
        wanted = not self._closed and (is_followed or session.live.turn is not None)
        if wanted != self._is_attending:
            self._is_attending = wanted
            if wanted:
                self._folder.follow(self._show)
            else:
                self._folder.unfollow(self._show)

    def turn_begins(self) -> None:
        """A turn begins: what has changed by then counts in it."""
        if self._is_attending:
            self._folder.look()
        self.attend()

    def close(self) -> None:
        """Look at nothing, and show nothing any more."""
        if not self._closed:
            self._closed = True
            self.attend()
            self._folders.leave(self._folder)

    async def definitions(self) -> tuple[Definition, ...]:
        """What there is now, for those who use it. Cancelling changes nothing."""
        await self._folder.catch_up()
        self._show()
        return self._together().definitions

    def hidden(self) -> set[str]:
        """The ids of skills that are for the model alone, as far as is known: people are not offered them."""
        return {item.child.id for item in self._together().definitions if not item.user_invocable}

    # -- switches ------------------------------------------------------------------------------------------

    def refused(self, action: a.StateAction) -> Judgement | None:
        """Why a client may not switch something on: its folder is not trusted, also not by now."""
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
        """A client has switched a container: that holds from now on, also after it was found again."""
        meta = self._session.live.head.meta or {}
        known = self._session.live.head.customizations or ()
        if any(not isinstance(container, Unknown) and container.id == action.id for container in known):
            toggles = {**self._toggles(), action.id: action.enabled}
            self._session.act(a.SessionMetaChangedAction(meta={**meta, TOGGLES: toggles}))

    def _toggles(self) -> dict[str, bool]:
        return (self._session.live.head.meta or {}).get(TOGGLES, {})

    # -- clients -------------------------------------------------------------------------------------------

    def active_client_changed(self) -> None:
        """A client has become the active one, publishes something else, or is active no longer."""
        self._published.publish(self._session.live.head.active_client)

    def client_left(self, client_id: str) -> None:
        """A client is gone. Its plugins stay for some time, since it may come back."""
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
        """Let the session's state have what there is, unless it is no longer in memory."""
        is_here = not self._closed and self._session.host.is_loaded(self._session.uri)
        if self._folder.found is None or not is_here:
            return
        # Compared as the state has it, so that a secret in some description is not a change for ever.
        wanted = self._session.host.redactor.redact_value(self._together().containers, observed=True)
        for action in difference(self._session.live.head.customizations, wanted):
            self._session.act(action)
