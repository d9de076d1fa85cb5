"""`make test-agents`: install the agents that are missing, then test them where there is no network."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from real.table import AGENTS, CACHE_VARIABLE, NODE, cache_folder, installed  # noqa: E402 - see above

_INSIDE = "--inside"
_NAMESPACES = (
    ("--net",),
    ("--user", "--map-current-user", "--keep-caps", "--net"),  # for who is not root
)
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
"""For `ioctl`: SIOCSIFFLAGS, and IFF_UP with IFF_RUNNING."""


class NotChecked(Exception):
    """Something is missing, so that nothing can be said of the agents."""


def main(arguments: list[str]) -> int:
    """What pytest returns, or npm when it failed; 0 when nothing could be checked."""
    if arguments[:1] == [_INSIDE]:
        return test(arguments[1:])
    cache = cache_folder()
    try:
        check_shared()
        namespace = find_namespace()
        if failed := install(cache):
            return failed
    except NotChecked as reason:
        sys.stderr.write(f"NOT CHECKED: real agents were not tested: {reason}\n")
        return 0
    inside = [*namespace, sys.executable, __file__, _INSIDE, *arguments]
    return subprocess.run(inside, env={**os.environ, CACHE_VARIABLE: str(cache)}, check=False).returncode


def check_shared() -> None:
    """The model server is not part of the repository."""
    if not (ROOT.parent / "shared").is_dir():
        raise NotChecked("the folder ../shared (with the model server) is not there")


def find_namespace() -> list[str]:
    """The beginning of a command that runs where there is no network."""
    unshare = shutil.which("unshare")
    for options in _NAMESPACES if unshare else ():
        command = [str(unshare), *options]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    raise NotChecked("this system gives no network namespace (unshare --net)")


def install(cache: Path) -> int:
    """Install what is missing. Returns what npm returns."""
    there = installed(cache)
    missing = [f"{agent.package}@latest" for agent in AGENTS if agent.package not in there]
    missing += [] if NODE in there else [f"{NODE}@24"]
    if not missing:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        raise NotChecked("npm is not installed")
    sys.stderr.write(f"installing {', '.join(missing)} in {cache}\n")
    cache.mkdir(parents=True, exist_ok=True)
    options = ["--prefix", str(cache), "--no-audit", "--no-fund"]
    return subprocess.run([npm, "install", *options, *missing], check=False).returncode


def test(arguments: list[str]) -> int:
    """Run the tests: here there is no network but loopback, as soon as that is up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, _SET_FLAGS, struct.pack("16sh", b"lo", _UP_AND_RUNNING).ljust(40, b"\0"))
    command = [sys.executable, "-m", "pytest", "tests/real", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
