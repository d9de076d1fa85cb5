"""What goes wrong with files, programs and settings of the machine."""

from __future__ import annotations

from serai.errors.base import SeraiError

__all__ = [
    "ConfigInvalid",
    "DiscardBusy",
    "DiscardUnknown",
    "FileUnreadable",
    "FolderMoved",
    "FolderTooLarge",
    "GitFailed",
    "GitTimedOut",
    "GitUnavailable",
    "ProcessNotStarted",
    "TerminalsUnavailable",
]


class ConfigInvalid(SeraiError):
    """A setting has a value that it cannot have. The message names the setting and where it comes from."""

    code = "config_invalid"


class DiscardBusy(SeraiError):
    """A discard is under way, or is being undone."""

    code = "discard_busy"


class DiscardUnknown(SeraiError):
    """There is no discard of that name that could be undone."""

    code = "discard_unknown"


class FileUnreadable(SeraiError):
    """A file that was named cannot be read."""

    code = "file_unreadable"


class FolderMoved(SeraiError):
    """The folder of a session is another one than it was, or is in another repository."""

    code = "folder_moved"


class FolderTooLarge(SeraiError):
    """A folder has more files than its changes are recorded for."""

    code = "folder_too_large"


class GitFailed(SeraiError):
    """A git command did not do what it was asked. `words` is what git said, if anything."""

    code = "git_failed"

    def __init__(self, message: str, *, words: str = "", remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.words = words


class GitTimedOut(GitFailed):
    """A git command took too long and was ended."""

    code = "git_timed_out"


class GitUnavailable(SeraiError):
    """There is no git that could be used."""

    code = "git_unavailable"


class ProcessNotStarted(SeraiError):
    """A process could not be started; nothing of it runs."""

    code = "process_not_started"


class TerminalsUnavailable(SeraiError):
    """This system has no terminals that Serai can use."""

    code = "terminals_unavailable"
