"""The same program written differently is known before it is judged; a different program never is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_repo import ReplyRepo

from evolve.likeness import Likenesses, program

BASE = """
import math

SCALE = 2


def area(radius, *, factor=1.0):
    total = 0.0
    for step in range(3):
        total += math.pi * radius**2 * factor * step
    return total * SCALE
"""
SAME = {
    "comments and layout": BASE.replace("SCALE = 2\n", "# the scale\nSCALE   =  2  # doubled\n\n\n"),
    "a docstring": BASE.replace("    total = 0.0", '    """The area."""\n    total = 0.0', 1),
    "a docstring of the module": '"""Areas."""\n' + BASE,
    "renamed locals": BASE.replace("total", "summed").replace("step", "i"),
    "parentheses": BASE.replace("total * SCALE", "(\n        total\n        * SCALE\n    )"),
    "one line": BASE.replace(":\n        total +=", ": total +="),
    "annotated locals": BASE.replace("total = 0.0", "total: float = 0.0"),
}
OTHER = {
    "a constant": BASE.replace("range(3)", "range(4)"),
    "a type": BASE.replace("SCALE = 2", "SCALE = 2.0"),
    "an operator": BASE.replace("total * SCALE", "total + SCALE"),
    "a parameter's name": BASE.replace("factor", "scale"),
    "a default": BASE.replace("factor=1.0", "factor=1.5"),
    "a global's name": BASE.replace("SCALE", "FACTOR"),
    "a function's name": BASE.replace("area", "surface"),
    "a string": BASE + "\nNAME = 'a'\n",
    "order": BASE.replace("import math\n\nSCALE = 2", "SCALE = 2\nimport math"),
    "an assertion": BASE.replace("    return", "    assert total\n    return"),
    "which local": BASE.replace("return total", "return step"),
}


def alike(one: str, other: str) -> bool:
    first, second = program(one.encode()), program(other.encode())
    assert first and second
    return first == second


@pytest.mark.parametrize("change", SAME)
def test_another_way_to_write_it_is_the_same(change: str) -> None:
    assert SAME[change] != BASE
    assert alike(BASE, SAME[change])


@pytest.mark.parametrize("change", OTHER)
def test_another_program_is_another(change: str) -> None:
    assert not alike(BASE, OTHER[change])


@pytest.mark.parametrize("word", ["locals()", "area.__doc__", "inspect.getsource(area)", "eval('total')"])
def test_a_program_that_looks_at_itself_is_compared_by_its_text(word: str) -> None:
    assert program(f"{BASE}\nprint({word})\n".encode()) is None


@pytest.mark.parametrize("data", [b"def (", b"x = 1\0", b"\xff\xfe", b"(" * 500])
def test_what_is_no_program_is_compared_by_its_text(data: bytes) -> None:
    assert program(data) is None


@given(st.lists(st.integers(-3, 3) | st.booleans() | st.floats(-2, 2), max_size=4), st.integers(0, 3))
def test_a_value_never_passes_for_another(values: list[object], at: int) -> None:
    changed = [*values[:at], "x", *values[at + 1 :]]
    one, other = (program(f"VALUES = {each!r}".encode()) for each in (values, changed))
    assert (one == other) is ([(type(v), repr(v)) for v in values] == [(type(v), repr(v)) for v in changed])


def test_trees_are_alike_whichever_files_were_only_written_differently(tmp_path: Path) -> None:
    repo = ReplyRepo(tmp_path, {"a.py": BASE.encode(), "notes.txt": b"x\n"})
    likenesses = Likenesses(repo.store, repo.base.id)
    layout = repo.candidate({"a.py": SAME["renamed locals"].encode()}).id
    text = repo.candidate({"notes.txt": b"x \n"}).id
    other = repo.candidate({"a.py": OTHER["a constant"].encode()}).id
    both = repo.store.write_tree(other, {"a.py": OTHER["a constant"].replace("total", "t").encode()})
    assert likenesses.of(layout) == likenesses.of(repo.base.id)
    assert likenesses.of(both) == likenesses.of(other)
    assert len({likenesses.of(tree) for tree in (repo.base.id, text, other)}) == 3
    likenesses.see([other])
    assert likenesses.first(likenesses.of(both)) == other
