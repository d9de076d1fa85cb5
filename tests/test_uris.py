"""`file:` URIs to paths and back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from machine.files.desk import DENIED, refused
from serai.errors import ProtocolError
from serai.uris import path_of, uri_of


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///inn/a.txt", "/inn/a.txt"),
        ("file:/inn/a.txt", "/inn/a.txt"),
        ("FILE://LocalHost/inn/a.txt", "/inn/a.txt"),
        ("file:///", "/"),
        ("file:///inn/", "/inn"),
        ("file:///inn//./a", "/inn/a"),
        ("file:///inn/a%20b%3F%23%25", "/inn/a b?#%"),
        ("file:///inn/%C3%BC", "/inn/ü"),
        ("file:///inn/ü und ö", "/inn/ü und ö"),
        ("file:///inn/%0A", "/inn/\n"),
        ("file:///inn/...", "/inn/..."),
        ("file:///c:/a", "/c:/a"),
    ],
)
def test_a_file_uri_names_a_path(uri: str, path: str) -> None:
    assert path_of(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/inn/a",
        "work",
        "http://localhost/inn/a",
        "virtual://client/a",
        "files:///inn/a",
        "file:",
        "file:work/a",
        "file:./inn",
        "file://",
        "file://elsewhere/inn/a",
        "file://localhost:80/inn/a",
        "file://me@localhost/inn/a",
        "file://%6Cocalhost/inn/a",
        "file:///inn/a?b",
        "file:///inn/a?",
        "file:///inn/a#b",
        "file:///inn/%zz",
        "file:///inn/%",
        "file:///inn/%2",
        "file:///inn/a\x00b",
        "file:///inn/a\nb",
        "fi\nle:///inn/a",
        " file:///inn/a",
        "file:///inn/a%00b",
        "file:///inn/a%00",
        "file:///inn/\ud800",
    ],
)
def test_what_names_no_file_here_is_refused(uri: str) -> None:
    with refused(DENIED) as caught:
        path_of(uri)
    assert caught.value.data is None, "no grant would help"
    caught.value.message.encode()


@pytest.mark.parametrize(
    "uri",
    [
        "file:///inn/../etc/passwd",
        "file:///inn/a/..",
        "file:///..",
        "file:///inn/%2e%2e/etc/passwd",
        "file:///inn/%2E./etc/passwd",
        "file:///inn/.%2e/etc/passwd",
        "file:///inn/..%2fetc",
        "file:///inn/%2e%2e%2fetc",
        "file:///inn%2f..%2fetc",
        "file:///inn/a%2fb",
        "file:///%2fetc/passwd",
    ],
)
def test_no_way_leads_up(uri: str) -> None:
    with refused(DENIED):
        path_of(uri)


@pytest.mark.parametrize(
    ("uri", "name"),
    [("file:///inn/%252e%252e", "%2e%2e"), ("file:///inn/%252f", "%2f"), ("file:///inn/%2500", "%00")],
)
def test_decoding_happens_once(uri: str, name: str) -> None:
    assert path_of(uri) == Path("/inn") / name


def test_bytes_that_are_no_text_come_back_as_they_were() -> None:
    path = path_of("file:///inn/%FF%C3")
    assert os.fsencode(path) == b"/inn/\xff\xc3"
    assert uri_of(path) == "file:///inn/%FF%C3"


def test_a_uri_is_written_as_python_writes_it() -> None:
    path = Path("/inn/a b?#%ü:@~.txt")
    assert uri_of(path) == path.as_uri()


@given(
    st.lists(
        st.binary(min_size=1, max_size=20).filter(
            lambda name: not {0, 47} & set(name) and name not in (b".", b"..")
        ),
        max_size=5,
    )
)
def test_every_path_comes_back(names: list[bytes]) -> None:
    path = Path(os.fsdecode(b"/" + b"/".join(names)))
    uri = uri_of(path)
    assert uri.isascii()
    assert path_of(uri) == path


@given(st.text(max_size=40))
def test_no_text_at_all_gives_a_path_that_leads_up_or_is_relative(text: str) -> None:
    for uri in (text, f"file://{text}", f"file:///inn/{text}"):
        try:
            path = path_of(uri)
        except ProtocolError:  # any other error is what this looks for
            continue
        assert path.is_absolute()
        assert ".." not in path.parts
        assert "\0" not in str(path)
