"""The program that starts the host's children, and keeps them: what they start cannot get away from it.

    host ── warden ──┬── keeper ── child ── …
                     └── keeper ── child ── …

A process that detaches itself (`setsid`, a daemon) loses its parent, and perhaps its environment and its name
too. On Linux it gets another parent: the next *subreaper* above it. Each child has a keeper that is one. So
all that ever came of a child is below its keeper, whatever it calls itself, and nothing else is.

The warden starts keepers. It is small and has one thread, so it may fork and prepare a child in Python, which
the host may not. A keeper tells the host how its child ended, takes what ends off the system's list, and goes
when nothing is left. When the host is gone, which closes the socket between them, it ends what is left. If a
keeper is killed, the warden is the next subreaper, and kills what it gets.

Elsewhere there are no subreapers: all is the same, but what leaves the child's session is lost.

It runs by itself, with no other file of the package, so that it starts fast and stays small:

    python -I -S keeper.py COMMAND …

Its standard input is a socket. When the host goes without a word, it becomes the COMMAND in the end.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import marshal
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

__all__ = ["HEADER", "Request"]

HEADER = 8
"""So many bytes say how long a request is that follows. With them come the socket and three streams."""

Request = tuple[list[bytes], dict[bytes, bytes], bytes, bytes | None, int]
"""The program and its arguments, its environment, its directory, the terminal that shall be its own, and the
number that it shall be known by."""

_DESCRIPTORS = 4
_GRACE = 1.0
"""How long what the host left behind may take to end by itself, in seconds."""
_PATIENCE = 5.0
"""How long what was killed may take to go. What another user owns, as after `sudo`, cannot be killed."""
_LOOK = 0.02
_IGNORED = ("SIGHUP", "SIGINT", "SIGTERM")
_REAL_TIME = 32
"""Signals from here on have no meaning of their own."""
_SET_CHILD_SUBREAPER = 36
_LIMIT_OF_LOCKS = 10


# -- the warden --------------------------------------------------------------------------------------------


def main(command: list[str]) -> None:
    """Start keepers until the host says that it is over, or is gone."""
    host = socket.socket(fileno=0)
    ignore_signals()
    become_subreaper()
    woken = wake_when_children_end()
    keepers: set[int] = set()
    got_orphans = False
    gc.collect()
    gc.freeze()  # what nobody writes to is shared with all keepers
    while True:
        ready = wait_for(host.fileno(), woken)
        for pid, status in ended():
            keepers.discard(pid)
            got_orphans = got_orphans or status != 0
        if got_orphans:
            orphans = [
                pid for pid, parent in parents().items() if parent == os.getpid() and pid not in keepers
            ]
            tell(orphans, signal.SIGKILL)
            got_orphans = bool(orphans)  # theirs are next
        if host.fileno() in ready:
            request, descriptors = receive(host)
            if not request:
                break
            keepers.add(fork(partial(keep, request, *descriptors)))
            for each in descriptors:
                os.close(each)
    if request is None:
        end_all(lambda: [pid for pid in below(os.getpid()) if pid not in keepers])
        os.execv(command[0], command)  # noqa: S606 - our own command


def ignore_signals() -> None:
    """What is meant for the host ends the host, and that ends this."""
    for name in _IGNORED:
        signal.signal(signal.Signals[name], signal.SIG_IGN)


def receive(host: socket.socket) -> tuple[Request | None, list[int]]:
    """The next request, which is empty if there will be no more; `None` when the host is gone."""
    try:
        header, descriptors, _, _ = socket.recv_fds(host, HEADER, _DESCRIPTORS)
        for each in descriptors:
            os.set_inheritable(each, False)
        data = bytearray()
        while header and len(data) < int.from_bytes(header, "big"):
            data += host.recv(1 << 20)
    except ConnectionError:
        return None, []
    return (marshal.loads(data) if header else None), descriptors  # noqa: S302 - our own host made it


# -- the keeper --------------------------------------------------------------------------------------------


def keep(request: Request, link: int, *streams: int) -> None:
    """Start a child, and stay until nothing of it is left."""
    os.dup2(1, 0)  # the host's words to the warden are not for this one
    become_subreaper()
    woken = wake_when_children_end()
    child, error = start(request, streams)
    for each in streams:
        os.close(each)
    host = socket.socket(fileno=link)
    say(host, f"failed {error}" if error else f"started {child} {os.getpid()}")
    deserted = bool(error)
    while not deserted:
        ready = wait_for(link, woken)
        for pid, status in ended():
            if pid == child:
                say(host, f"ended {status}")
        deserted = link in ready and has_gone(host)
        if not deserted and not has_children():
            return
    end_all(lambda: below(os.getpid()) if is_linux() else group(child))


def has_gone(host: socket.socket) -> bool:
    """Whether the other end is closed. The host says nothing else."""
    try:
        return not host.recv(1)
    except OSError:
        return True


def start(request: Request, streams: tuple[int, ...]) -> tuple[int, int]:
    """Start the program in a session of its own. Returns its pid, or why not."""
    reader, writer = os.pipe()  # closed by the program's start
    child = fork(lambda: become(request, streams, writer))
    os.close(writer)
    told = os.read(reader, 16)
    os.close(reader)
    if told:
        os.waitpid(child, 0)
    return child, int(told or 0)


def become(request: Request, streams: tuple[int, ...], writer: int) -> None:
    """Be the program."""
    argv, environ, folder, terminal, number = request
    try:
        os.setsid()
        if terminal is not None:
            own_terminal(terminal)
        if is_linux():
            take_number(number)
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        os.chdir(folder)
        for number in range(1, _REAL_TIME):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)  # whatever the host was started to ignore
        os.execve(argv[0], argv, environ)  # noqa: S606 - to start programs is what this is for
    except OSError as error:
        os.write(writer, b"%d" % (error.errno or errno.EINVAL))


def own_terminal(path: bytes) -> None:
    """A session gets its terminal when its leader opens one, or says so."""
    import fcntl  # noqa: PLC0415 - agents have no terminal
    import termios  # noqa: PLC0415 - the same

    terminal = os.open(path, os.O_RDWR)
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.close(terminal)


def take_number(number: int) -> None:
    """Be known by a number, with all that is started: a limit that means nothing any more (`census.py`)."""
    import resource  # noqa: PLC0415 - elsewhere there is no such limit

    with contextlib.suppress(OSError, ValueError):  # someone has a use for it
        resource.setrlimit(_LIMIT_OF_LOCKS, (number, resource.getrlimit(_LIMIT_OF_LOCKS)[1]))


# -- what both do ------------------------------------------------------------------------------------------


def fork(work: Callable[[], object]) -> int:
    """Do something in another process, which ends with it. Returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def become_subreaper() -> None:
    """Be the parent of all that loses its own below."""
    if is_linux():
        import ctypes  # noqa: PLC0415 - it does not offer this elsewhere

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def is_linux() -> bool:
    """Whether there are subreapers and `/proc`."""
    return sys.platform == "linux"


def wake_when_children_end() -> int:
    """A descriptor that becomes readable then."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore)
    return reader


def _ignore(number: int, frame: FrameType | None) -> None:
    del number, frame


def wait_for(link: int, woken: int) -> list[int]:
    """Wait until the host or a child has something to tell. Returns what is readable."""
    ready, _, _ = select.select([link, woken], [], [])
    if woken in ready:
        os.read(woken, 4096)
    return ready


def ended() -> list[tuple[int, int]]:
    """The children that have ended since, and how: with a code, or a signal as a negative number."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(ChildProcessError):
        while (told := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((told[0], os.waitstatus_to_exitcode(told[1])))
    return found


def has_children() -> bool:
    """Whether anything runs that would be waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def group(leader: int) -> list[int]:
    """The group of a process, as a pid that stands for all of it; nothing when it is empty."""
    try:
        os.kill(-leader, 0)
    except OSError:
        return []
    return [-leader]


def parents() -> dict[int, int]:
    """The parent of each process that runs."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc") if is_linux() else ():  # noqa: PTH208 - no other file is imported
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in b"ZX":
                    found[int(name)] = int(parent)
    return found


def below(pid: int) -> list[int]:
    """All that runs below a process."""
    found = parents()
    known = {pid}
    while more := {each for each, parent in found.items() if parent in known} - known:
        known |= more
    return list(known - {pid})


def tell(pids: list[int], *signals: int) -> None:
    """Send signals."""
    for pid in pids:
        for number in signals:
            with contextlib.suppress(OSError):
                os.kill(pid, number)


def end_all(find: Callable[[], list[int]]) -> None:
    """End what can be found: ask it, and kill what does not listen."""
    tell(find(), signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
    begun = time.monotonic()
    while left := find():
        took = time.monotonic() - begun
        if took > _GRACE:
            tell(left, signal.SIGKILL)
        if took > _GRACE + _PATIENCE:
            return
        time.sleep(_LOOK)
        ended()


def say(host: socket.socket, words: str) -> None:
    """Tell the host, if it is there."""
    with contextlib.suppress(OSError):
        host.sendall(words.encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
