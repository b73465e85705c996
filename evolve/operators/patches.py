"""Ready-made changes as proposals: patch files in a folder, or branches that already exist.

They go in the order of their names, one a proposal. A patch may build on an earlier one (a first line
`Parent: name`), so it waits until that one is judged and fails with it. What is used up is known from
the journal (`observe`); what is in flight only from memory, which is right: after a crash the pipeline
asks again for what was open, in order, and gets the same patches.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from archives.errors import ConfigError, StoreError
from archives.git import Git, GitError
from archives.records import Candidate, Proposal
from evolve.operators.base import Draft, Exhausted, Needs, Order, Refused, Source, Waiting

_NUMBERED = re.compile(r"\d+[-_. ](?=.)")
_PARENT = re.compile(rb"Parent:[ \t]*([^\r\n]*?)[ \t]*(?:\r?\n|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Patch:
    """One ready-made change: `key` is unique, `name` is how people and other patches call it."""

    key: str
    name: str
    path: Path | None = None
    tip: str = ""

    @property
    def title(self) -> str:
        return f"patch {self.name}" if self.path else f"branch {self.name}"


class Patches:
    """Proposes the patches of a folder, then the branches that match, each once."""

    name = "patches"
    is_async = False
    needs: Needs = "nothing"

    def __init__(self, root: Path, folder: str | None, branches: Sequence[str] = ()) -> None:
        self.root = root
        self.folder = root / folder if folder else None
        self.branches = tuple(branches)
        self._in_flight: dict[int, str] = {}
        self._results: dict[str, str | None] = {}

    def handles(self, paths: Sequence[str]) -> bool:
        """A patch may change any file."""
        return True

    def observe(self, proposal: Proposal, candidate: Candidate | None, merit: float | None) -> None:
        """Learn which patch is done, and which candidate a later one can build on."""
        if proposal.operator != self.name or "patch" not in proposal.payload:
            return
        self._in_flight.pop(proposal.number, None)
        usable = candidate is not None and (merit is not None or proposal.gain is not None)
        self._results[str(proposal.payload["patch"])] = candidate.id if candidate and usable else None

    def recall(self, proposal: Proposal) -> None:
        """Know of a patch that is in flight again."""
        if "patch" in proposal.payload:
            self._in_flight[proposal.number] = str(proposal.payload["patch"])

    def propose(self, order: Order, source: Source) -> Draft:
        """The first patch that is not used yet, on the parent it names."""
        patches = self._list()
        patch = self._pick(order.number, patches)
        payload = {"patch": patch.key}
        parent = order.base.id
        data = self._read(patch, order.base)
        match = _PARENT.match(data) if patch.path else None
        if match is not None:
            data = data[match.end() :]
            wanted = match[1].decode("utf-8", "replace")
            if wanted != "base":
                parent = self._parent(patch, wanted, patches)
        self._in_flight[order.number] = patch.key
        try:
            # A branch that equals the base is an empty diff, which git would call corrupt.
            tree = source.store.apply_patch(parent, data) if data or patch.path else parent
        except StoreError as error:
            raise Refused(f"{patch.title} does not apply: {_one_line(error)}", payload=payload) from error
        return Draft(tree=tree, parent=parent, summary=patch.title, payload=payload)

    def _pick(self, number: int, patches: Sequence[_Patch]) -> _Patch:
        mine = self._in_flight.get(number)
        taken = {*self._results, *(key for n, key in self._in_flight.items() if n != number)}
        for patch in patches:
            if patch.key == mine or (mine is None and patch.key not in taken):
                return patch
        raise Exhausted("all patches are used up")

    def _parent(self, patch: _Patch, wanted: str, patches: Sequence[_Patch]) -> str:
        """The candidate an earlier patch led to."""
        named = [
            other for other in patches if other.path and wanted in (other.name, other.path.name, other.key)
        ]
        earlier = [other for other in named if patches.index(other) < patches.index(patch)]
        payload = {"patch": patch.key}
        if not earlier:
            why = "comes later in the order of names" if named else "is no patch in the folder"
            raise Refused(f"{patch.title}: its parent {wanted} {why}", payload=payload)
        parent = earlier[-1]
        if parent.key in self._results:
            candidate = self._results[parent.key]
            if candidate is None:
                raise Refused(f"{patch.title}: its parent {wanted} failed", payload=payload)
            return candidate
        raise Waiting(f"{patch.title} waits for its parent {wanted}")

    def _list(self) -> list[_Patch]:
        found: list[_Patch] = []
        if self.folder is not None:
            if not self.folder.is_dir():
                where = "[operators.patches] folder"
                raise ConfigError(f"{where}: {self.folder} is no folder; make it or correct the name")
            for path in sorted(self.folder.glob("*.patch"), key=lambda path: path.name):
                numbered = _NUMBERED.match(path.stem)
                found.append(_Patch(path.stem, path.stem[numbered.end() if numbered else 0 :], path))
        return found + self._branches()

    @property
    def _git(self) -> Git:
        found = pygit2.discover_repository(str(self.root))
        if found is None:
            raise ConfigError(f"[operators.patches] branches: there is no Git repository at {self.root}")
        return Git(Path(found))

    def _branches(self) -> list[_Patch]:
        if not self.branches:
            return []
        listing = self._git.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").decode()
        found = []
        for line in sorted(listing.splitlines(), key=lambda line: line.partition(" ")[2]):
            tip, _, ref = line.partition(" ")
            name = ref.removeprefix("refs/heads/")
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.branches):
                found.append(_Patch(f"branch:{name}", name, tip=tip))
        return found

    def _read(self, patch: _Patch, base: Candidate) -> bytes:
        try:
            if patch.path is not None:
                return patch.path.read_bytes()
            return self._git.run("diff-tree", "-r", "-p", "--binary", "--full-index", base.commit, patch.tip)
        except (OSError, GitError) as error:
            reason = f"{patch.title} cannot be read: {_one_line(error)}"
            raise Refused(reason, payload={"patch": patch.key}) from error


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:300]
