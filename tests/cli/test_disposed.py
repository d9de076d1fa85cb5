"""Sessions that were disposed of: they are found again, and then purged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.programs import run, running
from serai.client import connect
from serai.errors import ProtocolError

FIRST, SECOND, THIRD = (f"ahp-session:/{name}-0000" for name in ("aaaa1111", "aaaa2222", "bbbb3333"))


async def test_they_are_listed_while_the_host_runs_and_purged_when_it_does_not(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        url = (await host.says(r"http://\S+"))[0]
        async with connect(url) as client:
            for uri in (FIRST, SECOND, THIRD):
                session = await client.create_session("demo", uri=uri)
                await session.set_title(f"Of {uri}")
            done = await run("sessions", "--disposed", home=tmp_path)
            assert (done.code, done.out) == (0, "")
            assert "No session is disposed of" in done.err
            done = await run("sessions", "dispose", "aaaa1", home=tmp_path)
            assert "`serai sessions --disposed` lists it" in done.out
            assert (await run("sessions", "dispose", "bbbb", home=tmp_path)).code == 0
            done = await run("sessions", "--disposed", home=tmp_path, COLUMNS="120")
            head, *rows = done.out.splitlines()
            assert head.split() == ["ID", "AGENT", "TITLE", "STATUS", "CHANGED"]
            assert {row.split()[0] for row in rows} == {"aaaa1111", "bbbb3333"}
            assert all(re.search(r"Of ahp-session:/\S+ +disposed +now$", row) for row in rows)
            done = await run("sessions", "list", "--disposed", "--json", home=tmp_path)
            assert {one["resource"] for one in json.loads(done.out)} == {FIRST, THIRD}
            with pytest.raises(ProtocolError, match=r"was disposed of and is kept.*'serai sessions purge'"):
                await client.create_session("demo", uri=FIRST)
            with pytest.raises(ProtocolError, match="exists already"):
                await client.create_session("demo", uri=SECOND)
    done = await run("sessions", "purge", "aaaa", "--yes", home=tmp_path)
    assert done.code == 1
    assert "2 sessions begin with 'aaaa'" in done.err
    done = await run("sessions", "purge", "cccc", "--yes", home=tmp_path)
    assert "`serai sessions --disposed` list them" in done.err
    done = await run("sessions", "purge", "aaaa1", THIRD, "--yes", home=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{FIRST} is erased.\n{THIRD} is erased.\n"
    assert "No session is disposed of" in (await run("sessions", "--disposed", home=tmp_path)).err


async def test_those_of_a_host_elsewhere_are_not_looked_for_here(tmp_path: Path) -> None:
    done = await run("sessions", "--disposed", "--url", "http://there.example:1", home=tmp_path)
    assert done.code == 1
    assert "Run it on the host's machine" in done.err
