"""Types that are used for the first time by several threads at once."""

from __future__ import annotations

import subprocess
import sys

_FIRST_USE = """
import sys
from threading import Barrier, Thread

from serai.ahp import wire
from serai.ahp.actions import ActionEnvelope
from serai.ahp.commands import InitializeResult

sys.setswitchinterval(1e-6)
together = Barrier(6)
results = []

def use():
    together.wait()
    result = {"protocolVersion": "0.2.0", "serverSeq": 0, "snapshots": [], "new": 1}
    action = {"type": "session/titleChanged", "title": "x", "new": 1}
    envelope = {"channel": "ahp-session:/s", "serverSeq": 1, "action": action}
    first = wire.convert(result, InitializeResult)
    second = wire.convert(envelope, ActionEnvelope)
    results.append([wire.to_json(first), wire.to_json(second)] == [result, envelope])

threads = [Thread(target=use) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results == [True] * 6, results
"""


def test_types_may_be_used_first_by_several_threads_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_USE], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
