from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serai.acp.lines import Lines


@given(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"x"))), st.data())
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    reader = Lines()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += reader.feed(whole[start:end])
    assert found == lines
    assert (reader.rest(), reader.size) == (b"", 0)


def test_what_has_no_end_yet_is_counted_and_can_be_taken() -> None:
    reader = Lines()
    assert reader.feed(b"one\ntw") == [b"one"]
    assert reader.feed(b"o") == []
    assert reader.size == 3
    assert reader.rest() == b"two"
    assert reader.size == 0
