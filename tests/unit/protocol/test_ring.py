"""The last bytes of a stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.protocol.framing import Ring

CHUNKS = st.lists(st.binary(max_size=20))


@given(CHUNKS, st.integers(min_value=1, max_value=16))
def test_the_newest_bytes_are_kept_and_all_are_counted(chunks: list[bytes], capacity: int) -> None:
    ring = Ring(capacity)
    for chunk in chunks:
        ring.add(chunk)
    whole = b"".join(chunks)
    assert ring.tail() == whole[-capacity:]
    assert ring.total == len(whole)


@pytest.mark.slow
@given(CHUNKS, CHUNKS, st.integers(min_value=1, max_value=16))
def test_bytes_after_a_mark_are_returned_and_lost_ones_counted(
    before: list[bytes], after: list[bytes], capacity: int
) -> None:
    ring = Ring(capacity)
    for chunk in before:
        ring.add(chunk)
    mark = ring.total
    for chunk in after:
        ring.add(chunk)
    wanted = b"".join(after)
    assert ring.since(mark) == (wanted[-capacity:], max(0, len(wanted) - capacity))
