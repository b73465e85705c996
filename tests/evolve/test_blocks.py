from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.blocks import blocks, kept, outside

OLD = b"import a\n# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\nprint(x)\n"


@pytest.mark.parametrize(
    ("new", "fine"),
    [
        (OLD.replace(b"x = 1", b"x = 2\ny = 3"), True),
        (OLD.replace(b"import a", b"import b"), False),
        (OLD.replace(b"print(x)", b"print(2)"), False),
        (OLD.replace(b"# EVOLVE-BLOCK-END\n", b""), False),
        (OLD.replace(b"x = 1\n", b"# EVOLVE-BLOCK-END\nx = 1\n# EVOLVE-BLOCK-START\n"), False),
        (b"x = 1\n", False),
        (None, False),
    ],
)
def test_only_what_stands_between_the_marks_may_change(new: bytes | None, fine: bool) -> None:
    assert kept(OLD, new) is fine


def test_a_file_without_marks_may_change_anyhow() -> None:
    assert kept(b"x = 1\n", None)
    assert kept(b"x = 1\n", OLD)


@given(st.lists(st.sampled_from([b"a\n", b"# EVOLVE-BLOCK-START\n", b"# EVOLVE-BLOCK-END\n", b"b"])))
def test_inside_and_outside_make_the_whole(lines: list[bytes]) -> None:
    data = b"".join(lines)
    inside = [data[start:end] for start, end in blocks(data) or []]
    around = outside(data)
    if around is None:
        assert b"EVOLVE-BLOCK" not in data
    else:
        assert len(data) == sum(map(len, [*inside, *around]))
        assert kept(data, data)
