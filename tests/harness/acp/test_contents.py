"""What agents show, as AHP and Markdown have it."""

from __future__ import annotations

import pytest

from serai.harness.acp.content import link_to


@pytest.mark.parametrize(
    ("uri", "name", "shown"),
    [
        ("file:///w/a.py", "a.py", "[a.py](file:///w/a.py)"),
        ("https://x.org/", None, "[https://x.org/](https://x.org/)"),
        ("HTTP://x.org", " \n ", "[HTTP://x.org](HTTP://x.org)"),
        ("file:///w/__init__.py", "__init__.py", r"[\_\_init\_\_.py](file:///w/__init__.py)"),
        ("file:///w/my_file.py", "my_file.py", "[my_file.py](file:///w/my_file.py)"),
    ],
)
def test_a_link_has_its_name(uri: str, name: str | None, shown: str) -> None:
    assert link_to(uri, name) == shown


@pytest.mark.parametrize(
    ("uri", "name", "shown"),
    [
        ("http://good", "x](http://evil) y", r"[x\](http://evil) y](http://good)"),
        ("http://good", "a\\", r"[a\\](http://good)"),
        ("http://good", "`](http://evil)`", r"[\`\](http://evil)\`](http://good)"),
        ("http://good", "<b>\n\n# big", r"[\<b\> # big](http://good)"),
        ("http://good) [y](javascript:alert(1)", "x", "[x](http://good%29%20[y]%28javascript:alert%281%29)"),
        ("file:///a b\n<c>", "x", "[x](file:///a%20b%0A%3Cc%3E)"),
    ],
)
def test_no_name_and_no_address_gets_out_of_its_link(uri: str, name: str, shown: str) -> None:
    assert link_to(uri, name) == shown


@pytest.mark.parametrize("uri", ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "a/b.py"])
def test_what_is_no_page_and_no_file_is_named_and_not_linked(uri: str) -> None:
    assert link_to(uri, "x") == f"x ({uri.strip()})"
    assert link_to(uri, None) == uri.strip()
