"""Measures of a candidate that need no evaluator: its length, its structure, its distance from the base.

Every one of them is a sum over paths, and a candidate differs from its parent in few paths. So the sums
of a tree are those of its parent, which are known, plus what the changed paths contribute; for a tree
without a known parent the base is the start. What one file contributes depends on its bytes and those of
the base only, and is remembered by their hash. The result never depends on the parent: it says what the
tree is, not how it came about.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import pygit2

from archives import syntax
from archives.binning import Axis
from archives.remembered import Remembered

DEFAULT_AXES = (Axis("lines", bins=8), Axis("distance", bins=8))
"""Axes of a campaign that names none: how long the artifact is and how far it has gone from the base. Both
exist for every language, and their edges adapt to what the search does."""

_MAX_PARSED = 1 << 20
_MAX_TEXT = 1 << 23
_REMEMBERED = 8192
_warnings_lock = threading.Lock()


class _File(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def oid(self) -> str: ...


class TreeStore(Protocol):
    """What measuring needs of a Git store."""

    def __hash__(self) -> int: ...

    def files(self, tree: str) -> Sequence[_File]:
        """All files of a tree."""
        ...

    def read(self, tree: str, path: str) -> bytes | None:
        """Bytes of a regular file, None where there is none."""
        ...

    def changed_paths(self, old: str, new: str) -> Iterable[str]:
        """Paths in which two trees differ."""
        ...


@dataclass(frozen=True, slots=True)
class _Sums:
    lines: int = 0
    files_touched: int = 0
    distance: int = 0
    ast_nodes: int = 0

    def plus(self, other: _Sums, factor: int = 1) -> _Sums:
        return _Sums(
            self.lines + factor * other.lines,
            self.files_touched + factor * other.files_touched,
            self.distance + factor * other.distance,
            self.ast_nodes + factor * other.ast_nodes,
        )


class Measurer:
    """Measures the trees of one campaign; may be used from several threads.

    Args:
        store: Where the trees are.
        base: The tree from which distance is counted.
        include: Which paths count; usually those that may change.
    """

    def __init__(self, store: TreeStore, base: str, include: Callable[[str], bool]) -> None:
        self._store = store
        self._base = base
        self._include = include
        self._trees: Remembered[str, _Sums] = Remembered(_REMEMBERED)
        self._sizes: Remembered[tuple[str, bool], tuple[int, int]] = Remembered(_REMEMBERED)
        self._distances: Remembered[tuple[str, str], int] = Remembered(_REMEMBERED)

    def measure(self, parent: str, tree: str) -> dict[str, float | str]:
        """The measures of a tree, found quickly where those of its parent are known.

        Returns:
            lines: Lines of all included text files.
            files_touched: Included files whose bytes differ from the base.
            distance: Lines added plus lines removed against the base; a binary file that differs counts 1.
            ast_nodes: Nodes of the syntax trees of all included Python files that parse.
        """
        sums = self._trees.get(tree)
        if sums is None:
            known = self._trees.get(parent)
            start, sums = (self._base, self._of_base()) if known is None else (parent, known)
            for path in self._store.changed_paths(start, tree):
                if self._include(path):
                    sums = sums.plus(self._part(tree, path)).plus(self._part(start, path), -1)
            self._trees.put(tree, sums)
        return {
            "lines": float(sums.lines),
            "files_touched": float(sums.files_touched),
            "distance": float(sums.distance),
            "ast_nodes": float(sums.ast_nodes),
        }

    def _of_base(self) -> _Sums:
        sums = self._trees.get(self._base)
        if sums is None:
            sums = _Sums()
            for file in self._store.files(self._base):
                if self._include(file.path):
                    sums = sums.plus(self._part(self._base, file.path))
            self._trees.put(self._base, sums)
        return sums

    def _part(self, tree: str, path: str) -> _Sums:
        """What one path of a tree adds to the sums."""
        data = self._store.read(tree, path)
        origin = data if tree == self._base else self._store.read(self._base, path)
        lines, nodes = (0, 0) if data is None else self._size(data, path.endswith((".py", ".pyi")))
        if data == origin:
            return _Sums(lines=lines, ast_nodes=nodes)
        return _Sums(lines, 1, self._distance(origin or b"", data or b""), nodes)

    def _size(self, data: bytes, python: bool) -> tuple[int, int]:
        key = (str(pygit2.hash(data)), python)
        size = self._sizes.get(key)
        if size is None:
            size = (_lines(data), _ast_nodes(data) if python else 0)
            self._sizes.put(key, size)
        return size

    def _distance(self, old: bytes, new: bytes) -> int:
        key = (str(pygit2.hash(old)), str(pygit2.hash(new)))
        distance = self._distances.get(key)
        if distance is None:
            distance = _changed_lines(old, new)
            self._distances.put(key, distance)
        return distance


def builtin(
    store: TreeStore, base_tree: str, parent_tree: str, tree: str, include: Callable[[str], bool]
) -> dict[str, float | str]:
    """The built-in measures of a tree, see `Measurer.measure`; what earlier calls found out is reused."""
    return _measurer(store, base_tree, include).measure(parent_tree, tree)


@lru_cache(maxsize=4)
def _measurer(store: TreeStore, base: str, include: Callable[[str], bool]) -> Measurer:
    return Measurer(store, base, include)


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:8000] and len(data) <= _MAX_TEXT


def _lines(data: bytes) -> int:
    if not _is_text(data):
        return 0
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _changed_lines(old: bytes, new: bytes) -> int:
    if not (_is_text(old) and _is_text(new)):
        return 1
    _, added, removed = pygit2.Patch.create_from(old, new).line_stats
    return added + removed


def _ast_nodes(data: bytes) -> int:
    """Nodes of the syntax tree; 0 for what does not parse, which is no error: the evaluator will say so."""
    if len(data) > _MAX_PARSED:
        return 0
    try:
        # The parser warns about odd escapes in a candidate; the filter is global, hence the lock.
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    return sum(1 for _ in ast.walk(tree))
