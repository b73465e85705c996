"""What the built-in measures promise, over a store held in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.grid import Grid
from archives.measures import DEFAULT_AXES, Measurer, builtin


@dataclass(frozen=True)
class File:
    path: str
    oid: str


class MemoryStore:
    """Trees by name, with a count of the reads."""

    def __init__(self, **trees: Mapping[str, bytes]) -> None:
        self.trees = {name: dict(files) for name, files in trees.items()}
        self.reads = 0

    def files(self, tree: str) -> list[File]:
        return [File(path, "") for path in sorted(self.trees[tree])]

    def read(self, tree: str, path: str) -> bytes | None:
        self.reads += 1
        return self.trees[tree].get(path)

    def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        before, after = self.trees[old], self.trees[new]
        return tuple(sorted(path for path in before | after if before.get(path) != after.get(path)))


def every(path: str) -> bool:
    return True


def test_the_base_itself_is_at_distance_zero() -> None:
    store = MemoryStore(base={"a.py": b"x = 1\ny = 2\n", "b.txt": b"one\ntwo"})
    expected = {"lines": 4.0, "files_touched": 0.0, "distance": 0.0, "ast_nodes": 9.0}
    assert builtin(store, "base", "base", "base", every) == expected


def test_distance_counts_the_lines_added_and_removed_against_the_base() -> None:
    store = MemoryStore(
        base={"a.py": b"x = 1\ny = 2\n", "gone.py": b"z = 1\n"},
        child={"a.py": b"x = 1\ny = 3\nz = 4\n", "new.py": b"z = 1\nw = 2\n"},
    )
    measures = builtin(store, "base", "base", "child", every)
    assert measures["distance"] == 3 + 1 + 2
    assert measures["files_touched"] == 3
    assert measures["lines"] == 5


def test_only_included_paths_count() -> None:
    store = MemoryStore(base={"a.py": b"x\n", "log": b"1\n"}, child={"a.py": b"x\n", "log": b"2\n3\n"})
    measures = builtin(store, "base", "base", "child", lambda path: path.endswith(".py"))
    assert measures == {"lines": 1.0, "files_touched": 0.0, "distance": 0.0, "ast_nodes": 4.0}


@pytest.mark.parametrize(
    "broken",
    [
        b"def f(:\n",
        b"x = '\xff'\n",
        b"x = 1\n\0",
        b"(" * 5000,
        b"# coding: no-such-codec\nx = 1\n",
        b"-" * 100_000 + b"1",
    ],
)
def test_python_that_does_not_parse_has_no_nodes_and_is_no_error(broken: bytes) -> None:
    store = MemoryStore(base={"a.py": b"x = 1\n"}, child={"a.py": broken})
    measures = builtin(store, "base", "base", "child", every)
    assert measures["ast_nodes"] == 0 and measures["files_touched"] == 1


def test_a_binary_file_that_differs_counts_one_and_has_no_lines() -> None:
    store = MemoryStore(base={"a.bin": b"\0\n\n\n"}, child={"a.bin": b"\0\n\n\n\n\n"})
    measures = builtin(store, "base", "base", "child", every)
    assert measures["distance"] == 1 and measures["lines"] == 0


def test_odd_escapes_in_a_candidate_warn_nobody() -> None:
    store = MemoryStore(base={"a.py": b"x = '\\d'\n"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert builtin(store, "base", "base", "base", every)["ast_nodes"] > 0
    assert not caught


def test_a_child_of_a_known_parent_costs_only_what_it_changed() -> None:
    files = {f"m{i}.py": b"x = 1\n" for i in range(50)}
    far = dict.fromkeys(files, b"x = 2\n")
    store = MemoryStore(base=files, parent=far, child=far | {"m7.py": b"x = 3\n"})
    measurer = Measurer(store, "base", every)
    measurer.measure("base", "parent")
    store.reads = 0
    measures = measurer.measure("parent", "child")
    assert store.reads <= 4
    assert measures["distance"] == 100
    store.reads = 0
    assert measurer.measure("parent", "child") == measures and store.reads == 0


FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c.txt"]),
    st.lists(st.sampled_from([b"x = 1\n", b"y = [2]\n", b"def\n", b"\0\n", b""]), max_size=4).map(b"".join),
)


@settings(deadline=None)
@given(base=FILES, trees=st.lists(FILES, min_size=1, max_size=5))
def test_the_measures_of_a_tree_do_not_depend_on_how_it_came_about(
    base: dict[str, bytes], trees: list[dict[str, bytes]]
) -> None:
    names = [f"t{i}" for i in range(len(trees))]
    store = MemoryStore(base=base, **dict(zip(names, trees, strict=True)))
    along = Measurer(store, "base", every)
    parent = "base"
    for name in names:
        assert along.measure(parent, name) == Measurer(store, "base", every).measure("base", name)
        parent = name


def test_the_default_axes_are_measures_that_every_candidate_has() -> None:
    store = MemoryStore(base={"main.rs": b"fn main() {}\n"})
    measures = builtin(store, "base", "base", "base", every)
    assert all(axis.name in measures for axis in DEFAULT_AXES)
    assert Grid(DEFAULT_AXES).cell_of(measures) == (0, 0)
