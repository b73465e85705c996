"""The numbers of a whole artifact: which files, which literals, which skeleton.

Reading and parsing every file for every candidate would cost more than the search itself. So what is
known of a file is kept by the hash of its content, what is known of a candidate's tree is derived from
its parent's and the paths that changed, and a file written here is known before it is ever read.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archives.records import Candidate
from archives.store import Store
from evolve.operators.base import Source
from evolve.operators.literals import Literal, find, skeleton, substitute, tunable

MAX_FILES = 200
MAX_LITERALS = 300
_REGULAR = (0o100644, 0o100755)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What is known of one file by its content."""

    digest: bytes
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Artifact:
    """The editable files of a tree and their numbers.

    Attributes:
        files: Path to blob hash of every editable, tunable file, by path.
        places: For each literal the path of its file.
        literals: The literals, file by file.
        skeleton: Digest of the files with their numbers blanked out.
    """

    files: Mapping[str, str]
    places: tuple[str, ...]
    literals: tuple[Literal, ...]
    skeleton: str

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers in order."""
        return tuple(literal.value for literal in self.literals)


class Artifacts:
    """Artifacts of candidates, remembered within bounds."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[tuple[str, str], _Numbers] = OrderedDict()
        self._artifacts: OrderedDict[str, Artifact] = OrderedDict()
        self._editable: dict[str, bool] = {}

    def of_tree(self, source: Source, tree: str) -> Artifact:
        """The artifact of a tree, read in full if it is not known."""
        known = self._artifacts.get(tree)
        if known is not None:
            self._artifacts.move_to_end(tree)
            return known
        entries = [entry for entry in source.store.files(tree) if entry.mode in _REGULAR]
        files = {entry.path: entry.oid for entry in entries if self._wanted(source, entry.path)}
        return self._keep(source.store, tree, files)

    def of(self, source: Source, candidate: Candidate) -> Artifact:
        """The artifact of a candidate, from its parent's where that is at hand."""
        parent = self._artifacts.get(candidate.parents[0]) if candidate.parents else None
        if candidate.id in self._artifacts or parent is None:
            return self.of_tree(source, candidate.id)
        files = dict(parent.files)
        for path in candidate.changed:
            if self._wanted(source, path):
                data = source.store.read(candidate.id, path)
                files.pop(path, None)
                if data is not None:
                    files[path] = self._learn(path, data)
        return self._keep(source.store, candidate.id, dict(sorted(files.items())))

    def rewrite(self, source: Source, artifact: Artifact, values: Sequence[float]) -> dict[str, bytes]:
        """The files that change when the numbers become these."""
        wanted: dict[str, list[tuple[Literal, float]]] = {}
        for path, literal, value in zip(artifact.places, artifact.literals, values, strict=True):
            if literal.fit(value) != literal.value:
                wanted.setdefault(path, []).append((literal, value))
        changes: dict[str, bytes] = {}
        for path, some in wanted.items():
            oid = artifact.files[path]
            data = source.store.blob(oid)
            known = self._of_blob(source.store, path, oid)
            new = {literal.start: value for literal, value in some}
            every = [new.get(literal.start, literal.value) for literal in known.literals]
            changes[path], literals = substitute(data, known.literals, every)
            self._remember((path, blob_hash(changes[path])), _Numbers(known.digest, literals))
        return changes

    def _wanted(self, source: Source, path: str) -> bool:
        known = self._editable.get(path)
        if known is None:
            known = self._editable[path] = tunable(path) and source.editable(path)
        return known

    def _learn(self, path: str, data: bytes) -> str:
        oid = blob_hash(data)
        if (path, oid) not in self._numbers:
            literals = find(path, data)
            self._remember((path, oid), _Numbers(skeleton(data, literals), literals))
        return oid

    def _of_blob(self, store: Store, path: str, oid: str) -> _Numbers:
        known = self._numbers.get((path, oid))
        if known is None:
            data = store.blob(oid)
            literals = find(path, data)
            known = _Numbers(skeleton(data, literals), literals)
            self._remember((path, oid), known)
        return known

    def _remember(self, key: tuple[str, str], numbers: _Numbers) -> None:
        self._numbers[key] = numbers
        self._numbers.move_to_end(key)
        if len(self._numbers) > 2048:
            self._numbers.popitem(last=False)

    def _keep(self, store: Store, tree: str, files: Mapping[str, str]) -> Artifact:
        digest = hashlib.sha256()
        places: list[tuple[str, Literal]] = []
        for number, (path, oid) in enumerate(files.items()):
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
            if number >= MAX_FILES:
                digest.update(oid.encode())
                continue
            numbers = self._of_blob(store, path, oid)
            digest.update(numbers.digest)
            places += [(path, literal) for literal in numbers.literals]
        if len(places) > MAX_LITERALS:
            order = sorted(range(len(places)), key=lambda i: (places[i][1].rank, i))[:MAX_LITERALS]
            kept = set(order)
            for i, (_, literal) in enumerate(places):
                if i not in kept:
                    digest.update(repr(literal.value).encode())
            places = [places[i] for i in sorted(order)]
        paths = tuple(path for path, _ in places)
        artifact = Artifact(files, paths, tuple(literal for _, literal in places), digest.hexdigest())
        self._artifacts[tree] = artifact
        if len(self._artifacts) > 512:
            self._artifacts.popitem(last=False)
        return artifact


def blob_hash(data: bytes) -> str:
    """The hash Git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
