"""Which files clients and agents may have: those of the sessions' folders, and what a person has allowed."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

from serai.ahp import actions as a, commands as c, wire
from serai.ahp.commands import AhpErrorCode, ResourceRequestParams
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import (
    ConfigPropertySchema,
    FreeForm,
    MessageResourceAttachment,
    SessionActiveClient,
    SessionConfigPropertySchema,
    SessionInputOption,
    SessionInputRequest,
    SessionInputResponseKind,
    SessionInputSelectedAnswerValue,
    SessionInputSingleSelectQuestion,
    SessionInputSubmitted,
    SessionState,
)
from serai.errors import ConnectionLost, ProtocolError
from serai.host.session.questions import Answers
from serai.journal.subscriptions import Subscriber
from serai.machine.draft import find_leftovers, remove_leftovers
from serai.machine.files import (
    Access,
    FileThreads,
    Root,
    Roots,
    find,
    wanted,
)
from serai.machine.files.refusals import denied

if TYPE_CHECKING:
    from serai.host.host import Host
    from serai.host.session.session import Session

ADDITIONAL_DIRECTORIES = "additionalDirectories"
"""The setting of a session that names more folders, which are for reading only."""
MORE_FOLDERS = SessionConfigPropertySchema(
    type="array",
    title="Additional folders",
    description="More folders that the session may read, as paths or file: URIs",
    items=ConfigPropertySchema(type="string", title="Folder"),
)
"""How an agent that can have them offers that setting. It is chosen when a session is made."""

_log = logging.getLogger(__name__)

_ANSWER_WITHIN = 300.0
"""How long a person may take to answer whether someone may have a file, in seconds."""
_HOURS = {"quarter": 0.25, "day": 8.0}


class _Folders(NamedTuple):
    """What a session names: its working directory, and the additional ones."""

    own: list[str]
    more: list[str]


class Files:
    """The files of a host's sessions."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._grants: dict[tuple[str, Root], float] = {}
        """Until when a client may have what a person has allowed, in seconds of the host's clock."""
        self._of_session: dict[str, _Folders] = {}
        self._roots: dict[str, Root | None] = {}
        """Where the folders of sessions really are: looked up once, when they are first needed."""
        self._askers: dict[str, str] = {}
        """Which client asks for files with a question, by the question's id."""
        self.threads = FileThreads(host.home / "drafts")
        self.run = self.threads.run
        """Does something with files in a thread of its own."""

    async def open(self) -> None:
        """Before anything is done with files: what a host that was killed has left half done is removed."""
        leftovers = await asyncio.to_thread(find_leftovers, self._host.home / "drafts")
        if leftovers:
            self._host.run(self._remove(leftovers))

    async def _remove(self, leftovers: list[Path]) -> None:
        removed = await self.threads.run(remove_leftovers, leftovers)
        _log.info("%d unfinished copies of a host that was killed are removed", removed)

    async def close(self) -> None:
        """End what is done with files: what has begun is waited for."""
        await self.threads.close()

    # -- sessions ------------------------------------------------------------------------------------------

    def session_known(self, uri: str, directory: str | None, more: list[str]) -> None:
        """There is a session with this working directory and these additional ones.

        Of one that has not been in memory since the host started, the additional ones are not known.
        """
        self._of_session[uri] = _Folders([directory] if directory is not None else [], more)

    def session_removed(self, uri: str) -> None:
        """There is no such session any more."""
        self._of_session.pop(uri, None)
        known = {*self._all_own(), *self._all_more()}
        self._roots = {name: root for name, root in self._roots.items() if name in known}

    def _all_own(self) -> set[str]:
        return {name for folders in self._of_session.values() for name in folders.own}

    def _all_more(self) -> set[str]:
        return {name for folders in self._of_session.values() for name in folders.more}

    # -- what may be had -----------------------------------------------------------------------------------

    async def for_client(self, client_id: str) -> Roots:
        """What a client may have: whoever has the token may have the folders of all sessions."""
        folders = await self._resolved(self._all_own())
        more = await self._resolved(self._all_more())
        now = self._now()
        granted = [root for (one, root), until in self._grants.items() if one == client_id and now < until]
        return self._open(folders, more) | granted

    async def for_session(self, session: Session) -> Roots:
        """What the agent of a session may have."""
        directory = session.live.head.summary.working_directory
        folders = await self._resolved([directory] if directory else [])
        more = await self._resolved(folders_of(session.live.head))
        return self._open(folders, more)

    def _open(self, folders: list[Root], more: list[Root]) -> Roots:
        """These may be had, but for what is the host's own: its key, its token, whom it trusts."""
        return Roots.of(*(_writable(root) for root in folders), *more).closing(self._host.home)

    async def _resolved(self, directories: Collection[str]) -> list[Root]:
        unknown = [directory for directory in directories if directory not in self._roots]
        if unknown:
            self._roots |= await asyncio.to_thread(lambda: {name: _root(name) for name in unknown})
        return [root for directory in directories if (root := self._roots.get(directory)) is not None]

    def _now(self) -> float:
        return self._host.now() / 1000

    # -- asking a person -----------------------------------------------------------------------------------

    async def request(self, params: ResourceRequestParams, client_id: str, asker: Subscriber) -> None:
        """Ask a person whether a client may have a file or a folder, unless it may already.

        The question stands in a session that the client follows, or else in one that someone does.

        Raises:
            ProtocolError: `PERMISSION_DENIED`: nobody is there to ask, or the answer is no, or none would
                help: it is the host's own, a device, of `/proc` or the like.
        """
        try:
            root, access = await asyncio.to_thread(_asked, params, self._host.home)
        except ValueError:
            raise denied(params.uri, "it is no file of this machine") from None
        if (await self.for_client(client_id)).allow(root.path, access):
            return
        session = self._where_to_ask(asker)
        if session is None:
            raise _denied(params, "nobody follows a session and could be asked")
        how = " and ".join(
            word for word, asked in (("read", root.readable), ("write", root.writable)) if asked
        )
        question = self._question(f"The client {client_id!r} asks to {how} {root.path}. Allow it?")
        self._askers[question.id] = client_id
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                hours = _hours(await session.questions.ask(question))
        except TimeoutError:
            raise _denied(params, f"nobody answered in {_ANSWER_WITHIN:g} s") from None
        finally:
            del self._askers[question.id]
        if hours is None:
            raise _denied(params, "the person said no, or the turn in which it was asked has ended")
        now = self._now()
        self._grants = {grant: until for grant, until in self._grants.items() if now < until}
        self._grants[client_id, root] = now + hours * 3600

    def refused(self, action: a.StateAction, client_id: str) -> Judgement | None:
        """Why a client may not answer a question: it has asked for the files itself. It may take it back."""
        match action:
            case a.SessionInputCompletedAction(request_id=question, response=response):
                is_answer = response == SessionInputResponseKind.ACCEPT
            case a.SessionInputAnswerChangedAction(request_id=question):
                is_answer = True
            case _:
                return None
        if is_answer and self._askers.get(question) == client_id:
            return rejected("own_question", "someone else has to say whether you may have the files")
        return None

    def _where_to_ask(self, asker: Subscriber) -> Session | None:
        subscriptions = self._host.journal.subscriptions
        sessions = list(reversed(self._host.sessions.in_memory()))
        return next(
            (session for session in sessions if subscriptions.follows(session.uri, asker)),
            next((session for session in sessions if subscriptions.is_followed(session.uri)), None),
        )

    def _question(self, question: str) -> SessionInputRequest:
        return SessionInputRequest(
            id=self._host.new_id(),
            message="Access to files",
            questions=[
                SessionInputSingleSelectQuestion(
                    id="access",
                    message=question,
                    required=True,
                    options=[
                        SessionInputOption(id="quarter", label="For 15 minutes"),
                        SessionInputOption(id="day", label="For 8 hours"),
                        SessionInputOption(id="no", label="No"),
                    ],
                )
            ],
        )

    # -- what clients publish ------------------------------------------------------------------------------

    async def of_clients(self, method: str, params: wire.Value, asker: str) -> Any:
        """Have a client do something with a resource of its own, such as `virtual://...`.

        Asked are the active clients of sessions that have shown all that the command names, one after the
        other.

        Raises:
            ProtocolError: None of them has it, or the one that has it says no.
        """
        refusal: ProtocolError | None = None
        owners: dict[str, None] = {}
        for session in reversed(self._host.sessions.in_memory()):
            client = session.live.head.active_client
            if client is not None and gives(client, session.shown, params):
                owners[client.client_id] = None
        for client_id in owners:
            if client_id == asker:
                continue
            try:
                return await self._host.clients.ask(client_id, method, params)
            except ConnectionLost:
                continue
            except ProtocolError as error:
                if error.number not in _NOT_ITS_OWN:
                    raise
                refusal = refusal or error
        raise refusal or ProtocolError("no client publishes such a resource", number=AhpErrorCode.NOT_FOUND)


def folders_of(state: SessionState) -> list[str]:
    """The folders that a session may read beside its own."""
    return folders_in(state.config.values) if state.config else []


def folders_in(settings: FreeForm) -> list[str]:
    """The same, as the settings of a session name them."""
    named = settings.get(ADDITIONAL_DIRECTORIES)
    return (
        [one for one in cast("list[Any]", named) if isinstance(one, str)] if isinstance(named, list) else []
    )


_NOT_ITS_OWN = {AhpErrorCode.NOT_FOUND, AhpErrorCode.CONTENT_NOT_FOUND, -32601}


def _root(directory: str) -> Root | None:
    """A folder that is for reading; `None` for what is no folder of this machine."""
    try:
        return Root.of(directory)
    except (ProtocolError, ValueError, OSError):
        return None


def _asked(params: ResourceRequestParams, home: Path) -> tuple[Root, Access]:
    """What is asked for, if a person could allow it. Reads the disk.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: it would be refused all the same.
        ValueError: It is no path.
    """
    root = wanted(params)
    access = (Access.READ if root.readable else Access(0)) | (Access.WRITE if root.writable else Access(0))
    try:
        with find(params.uri, Roots.of(root).closing(home), access):
            pass
    except ProtocolError as error:
        if error.number != AhpErrorCode.NOT_FOUND:  # what is not there yet may be written later
            raise
    return root, access


def _writable(root: Root) -> Root:
    return Root(root.path, writable=True)


def _hours(answers: Answers) -> float | None:
    answer = answers.answers.get("access")
    if not answers.accepted or not isinstance(answer, SessionInputSubmitted):
        return None
    value = answer.value
    return _HOURS.get(value.value) if isinstance(value, SessionInputSelectedAnswerValue) else None


def _denied(params: ResourceRequestParams, why: str) -> ProtocolError:
    return ProtocolError(
        f"{params.uri} may not be had: {why}",
        number=AhpErrorCode.PERMISSION_DENIED,
        data={"request": wire.to_json(params)},
    )


# -- what clients show ---------------------------------------------------------------------------------------

_READS = (c.ResourceReadParams, c.ResourceListParams, c.ResourceResolveParams)
# What is on a host, on the network, or names something of AHP is no client's, whatever a client says.
_NEVER = re.compile(r"(file|https?|ahp-[^:]*|serai-[^:]*):", re.IGNORECASE)


def named_in(params: Any) -> list[str]:
    """The URIs that a command is about: one, or where from and where to."""
    if isinstance(params, c.ResourceCopyParams | c.ResourceMoveParams):
        return [params.source, params.destination]
    return [params.uri]


class Shown:
    """What clients have attached to messages of a session.

    A client answers the host as it would answer nobody else, so it is asked only for what it has shown:
    what is at or below the URI of a plugin that it publishes as active client; and for reading, what it has
    itself attached to a message. What others attach does not count: they would only have to name it.
    """

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = {}

    def note(self, action: a.StateAction, client_id: str) -> None:
        """A client has done something; if it sent a message, what is attached to that is shown."""
        if isinstance(action, a.SessionTurnStartedAction | a.SessionPendingMessageSetAction):
            uris = {
                attachment.uri
                for attachment in action.user_message.attachments or ()
                if isinstance(attachment, MessageResourceAttachment)
            }
            if uris:
                self._of.setdefault(client_id, set()).update(uris)

    def has(self, client_id: str, uri: str) -> bool:
        """Whether a client has attached a resource to one of its own messages."""
        return uri in self._of.get(client_id, ())


def gives(client: SessionActiveClient, shown: Shown, params: Any) -> bool:
    """Whether all that a command names is of a session's active client."""
    reads = isinstance(params, _READS)
    return all(
        _NEVER.match(uri) is None
        and (_is_of_plugin(client, uri) or (reads and shown.has(client.client_id, uri)))
        for uri in named_in(params)
    )


def _is_of_plugin(client: SessionActiveClient, uri: str) -> bool:
    bases = (plugin.uri.rstrip("/") for plugin in client.customizations or ())
    return any(uri == base or uri.startswith(f"{base}/") for base in bases) and not _goes_up(uri)


def _goes_up(uri: str) -> bool:
    return any(part == ".." for part in re.split(r"[/\\]", unquote(uri)))
