"""The keeper: a program that starts one child and ends all that comes of it.

    host ──┬── keeper ── child ── …
           └── keeper ── child ── …

A process that detaches itself (`setsid`, a daemon) loses its parent, and perhaps its environment and its name
too. On Linux it gets another parent: the next *subreaper* above it, which is the keeper. So all descendants
of a child stay below its keeper, whatever they call themselves, and nothing else does.

A keeper tells the host how its child ended, reaps processes that end, and exits when none is left. It ends
what is left when the child has ended, when the host asks for it, and when the host is gone, which closes the
socket between them. If the keeper itself is killed, the system kills the child; the host, or its next start
(`leftovers`), ends the rest of the child's session.

Elsewhere there are no subreapers: a process that leaves the child's session is lost.

It runs alone, without any other file of the package, so that it starts fast and stays small (`child`). On its
socket it gets a `Request`, and later perhaps "end GRACE HANGUP". It answers "failed ERRNO" or "started PID",
then "ended CODE", where a signal is a negative code, and "left PID …" if some processes could not be ended.
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

HEADER = 8
"""Length of the header of a request, in bytes. It has the length of the request."""

Request = tuple[list[bytes], dict[bytes, bytes], bytes, bytes | None, int]
"""The program and its arguments, its environment, its directory, the terminal that becomes its own, and its
umask, or -1 to leave that as it is."""

_GRACE = 1.0
"""Time for what a child or the host left behind to end by itself, in seconds."""
_PATIENCE = 5.0
"""Time for killed processes to go, in seconds. Those of another user, as after `sudo`, cannot be killed."""
_LOOK, _LAST_LOOK = 0.02, 0.5
_REAL_TIME = 32
"""First signal without a meaning of its own."""
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36


def main(link: int) -> None:
    """Start a child, and stay until nothing of it is left."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # they are for the host
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(link, False)
    request = receive(link)
    control_process(_SET_CHILD_SUBREAPER, 1)  # orphans below become its children
    woken = wake_when_children_end()
    child, error = start(request)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # the streams belong to the child now
        os.dup2(nothing, stream)
    send_line(link, f"failed {error}" if error else f"started {child}")
    if error:
        return

    def reap() -> bool:
        """Tell the host of the child's end. Returns whether it has come."""
        codes = [code for pid, code in reap_children() if pid == child]
        for code in codes:
            send_line(link, f"ended {code}")
        return bool(codes)

    grace, hangup = _GRACE, False
    while not reap():
        if link in wait_for(link, woken):
            grace, hangup = read_end_request(link)
            break
    left = end_all(child, grace, hangup=hangup, woken=woken, reap=reap)
    if left:
        send_line(link, f"left {' '.join(map(str, left))}")


# -- words with the host -------------------------------------------------------------------------------------


def receive(link: int) -> Request:
    """Receive what to start."""
    data = bytearray()
    while len(data) < HEADER or len(data) < HEADER + int.from_bytes(data[:HEADER], "big"):
        data += os.read(link, 1 << 20) or sys.exit(1)
    return marshal.loads(data[HEADER:])  # noqa: S302 - our own host made it


def read_end_request(link: int) -> tuple[float, bool]:
    """Read how all shall end: the grace, and whether HUP comes first. An end of file: the host is gone."""
    try:
        words = os.read(link, 64).split()
    except OSError:
        words = []
    return (float(words[1]), words[2] == b"1") if words else (_GRACE, True)


def send_line(link: int, words: str) -> None:
    """Send a line to the host, if it is there."""
    with contextlib.suppress(OSError):
        os.write(link, words.encode() + b"\n")


# -- the child -----------------------------------------------------------------------------------------------


def start(request: Request) -> tuple[int, int]:
    """Start the program in a session of its own. Returns its pid, and the number of the error or 0."""
    reader, writer = os.pipe()  # closed by the program's start
    child = os.fork()
    if not child:
        try:
            run_program(request)
        except OSError as error:
            os.write(writer, b"%d" % (error.errno or errno.EINVAL))
        finally:
            os._exit(1)
    os.close(writer)
    failure = os.read(reader, 16)
    os.close(reader)
    if failure:
        os.waitpid(child, 0)
    return child, int(failure or 0)


def run_program(request: Request) -> None:
    """Turn this process into the program."""
    argv, environ, folder, terminal, umask = request
    os.setsid()
    control_process(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if terminal is not None:
        own_terminal(terminal)
    os.chdir(folder)
    if umask >= 0:
        os.umask(umask)
    for number in range(1, _REAL_TIME):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)  # the host may have been started with some ignored
    os.execve(argv[0], argv, environ)  # noqa: S606 - to start programs is what this is for


def own_terminal(path: bytes) -> None:
    """Make a terminal the session's own: its leader opens it, or asks for it."""
    import fcntl  # noqa: PLC0415 - agents have no terminal
    import termios  # noqa: PLC0415 - the same

    terminal = os.open(path, os.O_RDWR)
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.close(terminal)


# -- what has come of it -------------------------------------------------------------------------------------


def is_linux() -> bool:
    """Tell whether this system has subreapers and `/proc`."""
    return sys.platform == "linux"


def control_process(option: int, value: int) -> None:
    """Set an option of this process, where the system has it."""
    if is_linux():
        import ctypes  # noqa: PLC0415 - it does not offer this elsewhere

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def wake_when_children_end() -> int:
    """Return a descriptor that becomes readable when children end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore)
    return reader


def _ignore(number: int, frame: FrameType | None) -> None:
    del number, frame


def wait_for(link: int, woken: int) -> list[int]:
    """Wait until the host has sent something or a child has ended. Returns the readable descriptors."""
    ready, _, _ = select.select([link, woken], [], [])
    if woken in ready:
        os.read(woken, 4096)
    return ready


def reap_children() -> list[tuple[int, int]]:
    """Reap the children that have ended. Returns pids and exit codes; a signal is a negative code."""
    found: list[tuple[int, int]] = []
    try:
        while (ended_child := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((ended_child[0], os.waitstatus_to_exitcode(ended_child[1])))
    except ChildProcessError:
        pass
    return found


def has_children() -> bool:
    """Tell whether there is any child."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def descendants(child: int) -> list[int]:
    """Return the running descendants of a child, the child first, so that it is signalled first."""
    if not is_linux():
        return session(child)
    if not has_children():
        return []
    found = parents()
    known = {os.getpid()}
    while more := {each for each, parent in found.items() if parent in known} - known:
        known |= more
    return sorted(known - {os.getpid()})


def parents() -> dict[int, int]:
    """Return the parent of each running process."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - no other file is imported
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state not in b"ZX":
                found[int(name)] = int(parent)
    return found


def session(leader: int) -> list[int]:
    """Return the processes of a session."""
    import subprocess  # noqa: PLC0415 - on Linux it is not needed

    listed = subprocess.run(["/bin/ps", "-A", "-o", "pid=,stat="], capture_output=True, check=False).stdout
    found: list[int] = []
    for line in listed.splitlines():
        pid, state = line.split()[:2]
        try:
            if not state.startswith(b"Z") and os.getsid(int(pid)) == leader:
                found.append(int(pid))
        except OSError:
            continue
    return found


def end_all(child: int, grace: float, *, hangup: bool, woken: int, reap: Callable[[], object]) -> list[int]:
    """End a child and its descendants with signals, KILL last. Returns the pids that could not be ended.

    An interactive shell ignores TERM, and ends its jobs when it gets HUP. Processes that appear meanwhile are
    signalled, too. A stopped one is continued, so that it can react.
    """
    asks = (signal.SIGHUP, signal.SIGTERM) if hangup else (signal.SIGTERM,)
    left: list[int] = []
    for step, limit in (*((ask, grace / len(asks)) for ask in asks), (signal.SIGKILL, _PATIENCE)):
        deadline = time.monotonic() + limit
        signalled: set[int] = set()
        delay = _LOOK
        while left := descendants(child):
            send_signals([pid for pid in left if pid not in signalled], step, signal.SIGCONT)
            signalled.update(left)
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            if select.select([woken], [], [], min(delay, remaining))[0]:
                os.read(woken, 4096)
            delay = min(delay * 2, _LAST_LOOK)
            reap()
    reap()
    return left


def send_signals(pids: list[int], *signals: int) -> None:
    """Send signals to processes."""
    for pid in pids:
        for number in signals:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
