"""The files of clients and agents: those in the sessions' folders, and those that a person has allowed."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import unquote

from serai.ahp import actions as a, commands as c, wire
from serai.ahp.commands import AhpErrorCode, ResourceRequestParams
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import (
    ConfigPropertySchema,
    FreeForm,
    MessageResourceAttachment,
    ProjectInfo,
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
from serai.config.paths import is_folder
from serai.errors import ConnectionLost, ProtocolError
from serai.host.core import HostCore
from serai.host.session.core import SessionCore
from serai.host.session.questions import Answers, Questions
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber
from serai.machine.draft import find_leftovers, remove_leftovers
from serai.machine.files import (
    FileRoot,
    FileThreads,
    Roots,
    find,
    requested_root,
)
from serai.machine.files.refusals import denied
from serai.uris import path_of

ADDITIONAL_DIRECTORIES = "additionalDirectories"
"""Name of a session's setting that names more folders, for reading only."""
MORE_FOLDERS = SessionConfigPropertySchema(
    type="array",
    title="Additional folders",
    description="More folders that the session may read, as paths or file: URIs",
    items=ConfigPropertySchema(type="string", title="Folder"),
)
"""The schema of that setting, as agents offer it. It is chosen when a session is made."""

_log = logging.getLogger(__name__)

_ANSWER_WITHIN = 300.0
"""Longest time for a person to allow access to a file, in seconds."""
_HOURS = {"quarter": 0.25, "day": 8.0}


class FileSession(Protocol):
    """The part of a session that files use."""

    kept: KeptSession
    questions: Questions
    attached: AttachedResources


class Files:
    """The files of a host's sessions; `in_memory` returns those in memory, the least recently used first."""

    def __init__(self, host: HostCore, in_memory: Callable[[], Sequence[FileSession]]) -> None:
        self.host = host
        self._in_memory = in_memory
        self._grants: dict[tuple[str, FileRoot], float] = {}
        """Ends of the grants that people have given to clients, in seconds of the host's clock."""
        self._roots: dict[str, FileRoot | None] = {}
        """Real places of the sessions' folders, looked up when they are first needed."""
        self._askers: dict[str, str] = {}
        """Clients that ask for files, by the id of their question."""
        self.threads = FileThreads(host.home / "drafts")
        self.run = self.threads.run
        """Runs an operation on files in a thread of its own."""

    async def open(self) -> None:
        """Remove the unfinished drafts of a host that was killed."""
        leftovers = await asyncio.to_thread(find_leftovers, self.host.home / "drafts")
        if leftovers:
            self.host.run(self._remove(leftovers))

    async def _remove(self, leftovers: list[Path]) -> None:
        removed = await self.threads.run(remove_leftovers, leftovers)
        _log.info("%d unfinished copies of a host that was killed are removed", removed)

    async def close(self) -> None:
        """Close the threads; running operations are waited for."""
        await self.threads.close()

    def forget_unused(self) -> None:
        """Forget the places of folders that no session has any more."""
        known = {name for own, more in self.host.folders.values() for name in (own, *more)}
        self._roots = {name: root for name, root in self._roots.items() if name in known}

    # -- what may be had -----------------------------------------------------------------------------------

    async def for_client(self, client_id: str) -> Roots:
        """Return the roots for a client: whoever has the token may have the folders of all sessions."""
        known = self.host.folders.values()
        folders = await self._resolved({own for own, _ in known if own})
        more = await self._resolved({name for _, more in known for name in more})
        now = self._now()
        granted = [root for (one, root), until in self._grants.items() if one == client_id and now < until]
        return self._open(folders, more) | granted

    async def for_session(self, session: SessionCore) -> Roots:
        """Return the roots for the agent of a session."""
        directory = session.live.head.summary.working_directory
        folders = await self._resolved([directory] if directory else [])
        more = await self._resolved(folders_of(session.live.head))
        return self._open(folders, more)

    def _open(self, folders: list[FileRoot], more: list[FileRoot]) -> Roots:
        """Make roots that exclude the host's own files: its key, its token, its list of trusted folders."""
        return Roots.of(*(_writable(root) for root in folders), *more).closing(self.host.home)

    async def _resolved(self, directories: Collection[str]) -> list[FileRoot]:
        unknown = [directory for directory in directories if directory not in self._roots]
        if unknown:
            self._roots |= await asyncio.to_thread(lambda: {name: _root(name) for name in unknown})
        return [root for directory in directories if (root := self._roots.get(directory)) is not None]

    def _now(self) -> float:
        return self.host.now() / 1000

    # -- asking a person -----------------------------------------------------------------------------------

    async def request(self, params: ResourceRequestParams, client_id: str, asker: Subscriber) -> None:
        """Ask a person to allow a client a file or a folder, unless the client may have it already.

        The question is asked in a session that the client follows, or else in one that someone follows.

        Raises:
            ProtocolError: `PERMISSION_DENIED`: nobody is there to ask, or the answer is no, or none would
                help: it is the host's own, a device, of `/proc` or the like.
        """
        try:
            root = await asyncio.to_thread(_asked, params, self.host.home)
        except ValueError:
            raise denied(params.uri, "it is no file of this machine") from None
        if (await self.for_client(client_id)).allow(root.path, write=root.writable):
            return
        session = self._where_to_ask(asker)
        if session is None:
            raise _denied(params, "nobody follows a session and could be asked")
        how = "read and write" if root.writable else "read"
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
        """Refuse the answer of a client to its own request for files; it may only cancel the question."""
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

    def _where_to_ask(self, asker: Subscriber) -> FileSession | None:
        subscriptions = self.host.journal.subscriptions
        sessions = self._in_memory()[::-1]
        return next(
            (session for session in sessions if subscriptions.follows(session.kept.uri, asker)),
            next((session for session in sessions if subscriptions.is_followed(session.kept.uri)), None),
        )

    def _question(self, question: str) -> SessionInputRequest:
        return SessionInputRequest(
            id=self.host.new_id(),
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

    async def ask_clients(self, method: str, params: wire.Value, asker: str) -> Any:
        """Let a client serve a request for a resource of its own, such as `virtual://...`.

        The active clients of sessions that have shown all that the command names are asked, one after the
        other.

        Raises:
            ProtocolError: None of them has it, or the one that has it refuses.
        """
        refusal: ProtocolError | None = None
        owners: dict[str, None] = {}
        for session in reversed(self._in_memory()):
            client = session.kept.live.head.active_client
            if client is not None and is_owned_by_client(client, session.attached, params):
                owners[client.client_id] = None
        for client_id in owners:
            if client_id == asker:
                continue
            try:
                return await self.host.clients.ask(client_id, method, params)
            except ConnectionLost:
                continue
            except ProtocolError as error:
                if error.number not in _NOT_ITS_OWN:
                    raise
                refusal = refusal or error
        raise refusal or ProtocolError("no client publishes such a resource", number=AhpErrorCode.NOT_FOUND)


# -- folders -------------------------------------------------------------------------------------------------


def directory_of(uri: str | None) -> Path | None:
    """Return the folder of a `file:` URI; `None` for other URIs, and for other machines."""
    try:
        return path_of(uri) if uri is not None else None
    except ProtocolError:
        return None


def problem_with_folder(uri: str, *, may_be_missing: bool = False) -> str | None:
    """Return why a URI is no folder of this machine; `None` when it is one. Reads the disk.

    With `may_be_missing` it is enough that there could be such a folder.
    """
    directory = directory_of(uri)
    if directory is None:
        return "it is no folder of this machine, as a file: URI"
    try:
        mode = directory.stat().st_mode
    except FileNotFoundError:
        return None if may_be_missing else "there is no such folder"
    except OSError as error:
        return f"it cannot be a folder: {error.strerror}"
    return None if stat.S_ISDIR(mode) else "it is no folder"


def project_of(uri: str | None) -> ProjectInfo | None:
    """Return the repository of a working directory, or else the directory itself. Reads the disk."""
    directory = directory_of(uri)
    if directory is None or not is_folder(directory):
        return None
    folders = (directory, *directory.parents)
    # Unlike the method of `Path`, this says no to what cannot be looked at.
    root = next((folder for folder in folders if os.path.exists(folder / ".git")), directory)  # noqa: PTH110 - see above
    return ProjectInfo(uri=root.as_uri(), display_name=root.name or "/")


def folders_of(state: SessionState) -> list[str]:
    """Return the additional folders of a session."""
    return folders_in(state.config.values) if state.config else []


def folders_in(settings: FreeForm) -> list[str]:
    """Return the additional folders that settings name."""
    named = settings.get(ADDITIONAL_DIRECTORIES)
    return (
        [one for one in cast("list[Any]", named) if isinstance(one, str)] if isinstance(named, list) else []
    )


_NOT_ITS_OWN = {AhpErrorCode.NOT_FOUND, AhpErrorCode.CONTENT_NOT_FOUND, -32601}


def _root(directory: str) -> FileRoot | None:
    """Make a root for reading a folder; return `None` for what is no folder of this machine."""
    try:
        return FileRoot.of(directory)
    except (ProtocolError, ValueError, OSError):
        return None


def _asked(params: ResourceRequestParams, home: Path) -> FileRoot:
    """Return the requested root, if a person could allow it. Reads the disk.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: it would be refused all the same.
        ValueError: It is no path.
    """
    root = requested_root(params)
    try:
        with find(params.uri, Roots.of(root).closing(home), write=root.writable):
            pass
    except ProtocolError as error:
        if error.number != AhpErrorCode.NOT_FOUND:  # what is not there yet may be written later
            raise
    return root


def _writable(root: FileRoot) -> FileRoot:
    return FileRoot(root.path, writable=True)


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
    """Return the URIs that a command names: one, or a source and a destination."""
    if isinstance(params, c.ResourceCopyParams | c.ResourceMoveParams):
        return [params.source, params.destination]
    return [params.uri]


class AttachedResources:
    """The resources that clients have attached to their own messages of a session.

    A client answers the host as it would answer nobody else, so it is asked only for what it has shown: what
    is at or below the URI of a plugin that it publishes as active client; and for reading, what it has itself
    attached to a message. What others attach does not count: they would only have to name it.
    """

    def __init__(self) -> None:
        self.by_client: defaultdict[str, set[str]] = defaultdict(set)

    def note(self, action: a.StateAction, client_id: str) -> None:
        """Note the attachments of a message, if an action of a client sends one."""
        if isinstance(action, a.SessionTurnStartedAction | a.SessionPendingMessageSetAction):
            self.by_client[client_id].update(
                attachment.uri
                for attachment in action.user_message.attachments or ()
                if isinstance(attachment, MessageResourceAttachment)
            )


def is_owned_by_client(client: SessionActiveClient, attached: AttachedResources, params: Any) -> bool:
    """Tell whether all that a command names belongs to a session's active client."""
    reads = isinstance(params, _READS)
    return all(
        _NEVER.match(uri) is None
        and (_is_of_plugin(client, uri) or (reads and uri in attached.by_client[client.client_id]))
        for uri in named_in(params)
    )


def _is_of_plugin(client: SessionActiveClient, uri: str) -> bool:
    bases = (plugin.uri.rstrip("/") for plugin in client.customizations or ())
    return any(uri == base or uri.startswith(f"{base}/") for base in bases) and not _goes_up(uri)


def _goes_up(uri: str) -> bool:
    return any(part == ".." for part in re.split(r"[/\\]", unquote(uri)))
