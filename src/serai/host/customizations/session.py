"""The customisations of a session: what its folder and its active client have, as its people switched it.

Found in threads; no session waits for it. What is shown is compared with what the session's state has, and
the difference happens as the smallest actions.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Coroutine
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.types import Customization, CustomizationErrorState, PluginCustomization
from serai.ahp.wire import Unknown
from serai.customizations import Customizations, Definition, TextDefinition, difference, with_toggles
from serai.customizations.containers import identity
from serai.host.customizations.plugins import PublishedPlugins
from serai.host.project import directory_of
from serai.journal.subscriptions import Subscriber

if TYPE_CHECKING:
    from serai.host.session.session import Session

__all__ = ["TOGGLES", "SessionCustomizations", "together"]

TOGGLES = "serai.toggles"
"""In a session's `_meta`: which containers people switched on or off, by id. Only the host writes it."""

_A_MOMENT = 1.0
"""A new session makes do with what was found so many seconds ago, until someone follows it."""


class _Switch(NamedTuple):
    """A client wants to switch a container."""

    action: a.SessionCustomizationToggledAction
    origin: a.ActionOrigin
    sender: Subscriber


class SessionCustomizations:
    """The customisations of one session.

    Args:
        session: The session.
        spawn: Runs something that the session owns.
    """

    def __init__(
        self, session: Session, spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    ) -> None:
        self._session = session
        self._spawn = spawn
        self._folders = session.host.customized_folders
        self._folder = self._folders.enter(directory_of(session.live.head.summary.working_directory))
        self._published = PublishedPlugins(session, spawn, self._published_changed)
        self._waiting: dict[str, list[_Switch]] = {}
        """What waits until the folder was looked at, in its order, by the container."""
        self._is_attending = False
        self._closed = False

    # -- when to look --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The session is new: look for the first time, without anyone waiting for it."""
        self._folder.look(self._show, within=_A_MOMENT)
        self._published.publish(self._session.live.head.active_client)

    def attend(self) -> None:
        """Watch while someone follows the session or a turn runs in it. To be called when that changes."""
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
        self.attend()
        self._folder.look()

    def close(self) -> None:
        """Watch nothing, and show nothing any more."""
        if not self._closed:
            self._closed = True
            self.attend()
            self._folders.leave(self._folder)

    async def definitions(self) -> tuple[Definition, ...]:
        """What there is now, for those who use it.

        What is switched off here is not `enabled`, and what is not enabled is not `runnable`. Cancelling
        changes nothing.
        """
        await self._look()
        return _marked(self._together())

    def hidden(self) -> set[str]:
        """The ids of skills that are for the model alone, as far as is known: people are not offered them."""
        return {
            item.id
            for item in self._together().definitions
            if isinstance(item, TextDefinition) and not item.user_invocable
        }

    async def _look(self) -> None:
        await self._folder.catch_up()
        self._show()

    # -- switches ------------------------------------------------------------------------------------------

    def holds_up(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> bool:
        """Whether an action waits here: one that switches on what may be locked, and those that follow it.

        Its folder may be trusted since it was last looked at. So it is looked at first, and then the action
        is dispatched again, or goes back with the reason. What switches the same thing meanwhile comes after.
        """
        if not isinstance(action, a.SessionCustomizationToggledAction):
            return False
        waiting = self._waiting.get(action.id)
        if waiting is not None:
            waiting.append(_Switch(action, origin, sender))
            return True
        found = self._folder.found
        if not action.enabled or (found is not None and action.id not in found.locked):
            return False
        self._waiting[action.id] = [_Switch(action, origin, sender)]
        self._spawn(self._unlock(action.id))
        return True

    async def _unlock(self, container: str) -> None:
        try:
            await self._look()
        finally:
            waiting = self._waiting.pop(container)
        session, folder = self._session, self._folder
        is_locked = container in (folder.found or Customizations()).locked
        remedy = f"serai config trust {shlex.quote(str(folder.directory))}"
        reason = (
            f"not_trusted: the folder {folder.directory} is not trusted, so nothing of it runs;"
            f" to trust it: {remedy}"
        )
        for action, origin, sender in waiting:
            if is_locked and action.enabled:
                session.journal.reject(session.uri, action, origin, reason, sender)
            else:
                session.dispatch(action, origin, sender)

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

    def _together(self) -> Together:
        return together(self._folder.found or Customizations(), self._published.shown, self._toggles())

    def _show(self) -> None:
        """Let the session's state have what there is, unless it is no longer in memory."""
        is_here = not self._closed and self._session.host.is_loaded(self._session.uri)
        if self._folder.found is None or not is_here:
            return
        # Compared as the state has it, so that a secret in some description is not a change for ever.
        wanted = self._session.host.redactor.redact_value(self._together().containers, observed=True)
        for action in difference(self._session.live.head.customizations, wanted):
            self._session.act(action)


class Together(NamedTuple):
    """All that a session has."""

    containers: list[Customization]
    """As they were switched."""
    definitions: list[Definition]


def together(found: Customizations, published: list[Customizations], toggles: dict[str, bool]) -> Together:
    """What was found and what is published, as people switched it. Of two with the same id the first counts.

    Args:
        found: What the folder and the home have.
        published: What the active client publishes, one container each.
        toggles: What people chose, by the container's id.
    """
    containers = list(found.containers)
    definitions = list(found.definitions)
    taken = {container.id for container in containers if not isinstance(container, Unknown)}
    for place, item in enumerate(published):
        container = cast("PluginCustomization", item.containers[0])
        if container.id in taken:
            container = _refused(container, place)
        else:
            definitions += item.definitions
        taken.add(container.id)
        containers.append(container)
    return Together(with_toggles(containers, toggles, found.locked), definitions)


def _refused(container: PluginCustomization, place: int) -> PluginCustomization:
    """A plugin whose id is another one's: it is shown under an id that nobody has, and not used."""
    return replace(
        container,
        id=identity("refused", container.client_id or "", container.uri, container.id, str(place)),
        enabled=False,
        load=CustomizationErrorState(message=f"the id {container.id!r} is another one's already"),
        children=None,
    )


def _marked(all_of_it: Together) -> tuple[Definition, ...]:
    on = {
        container.id
        for container in all_of_it.containers
        if not isinstance(container, Unknown) and container.enabled
    }
    return tuple(
        item if item.container in on else with_fields(item, enabled=False, runnable=False)
        for item in all_of_it.definitions
    )
