"""A store in memory and records for testing operators without Git."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from archives.records import Basis, Candidate, Proposal
from evolve.operators.artifact import blob_hash
from evolve.operators.base import Draft, Operator, Order, Source


@dataclass(frozen=True)
class Entry:
    path: str
    oid: str
    mode: int = 0o100644


class MemoryStore:
    """The part of a store that operators read, on dictionaries."""

    def __init__(self) -> None:
        self.trees: dict[str, dict[str, str]] = {}
        self.blobs: dict[str, bytes] = {}
        self.blobs_read = 0

    def add(self, files: Mapping[str, bytes]) -> str:
        entries = {path: blob_hash(data) for path, data in sorted(files.items())}
        self.blobs |= {blob_hash(data): data for data in files.values()}
        tree = hashlib.sha1(repr(entries).encode()).hexdigest()
        self.trees[tree] = entries
        return tree

    def files(self, tree: str) -> list[Entry]:
        return [Entry(path, oid) for path, oid in self.trees[tree].items()]

    def read(self, tree: str, path: str) -> bytes | None:
        oid = self.trees[tree].get(path)
        return None if oid is None else self.blob(oid)

    def blob(self, oid: str) -> bytes:
        self.blobs_read += 1
        return self.blobs[oid]

    def write_tree(self, base: str, changes: Mapping[str, bytes | None]) -> str:
        files = {path: self.blobs[oid] for path, oid in self.trees[base].items()}
        for path, data in changes.items():
            if data is None:
                files.pop(path)
            else:
                files[path] = data
        return self.add(files)

    def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        one, two = self.trees[old], self.trees[new]
        return tuple(path for path in sorted({*one, *two}) if one.get(path) != two.get(path))


Merit = Callable[[Mapping[str, bytes]], float | None]


class Bench:
    """A tiny campaign: one base, one operator at work, every result observed at once or later."""

    def __init__(self, files: Mapping[str, bytes], merit: Merit, seed: int = 1) -> None:
        self.store = MemoryStore()
        self.merit_of = merit
        self.seed = seed
        self.base = Candidate(self.store.add(files), "c0", 0, (), 0, "base", "base")
        self.source = Source(cast(Any, self.store), lambda path: not path.startswith("evaluate"))
        self.candidates = {self.base.id: self.base}
        self.merits = {self.base.id: merit(files)}
        self.best = self.base
        self.history: list[tuple[Proposal, Candidate | None, float | None]] = []
        self.number = 0

    def files(self, candidate: Candidate) -> dict[str, bytes]:
        return {path: self.store.blobs[oid] for path, oid in self.store.trees[candidate.id].items()}

    def order(self, number: int, parent: Candidate | None = None, **more: Any) -> Order:
        return Order(number=number, seed=self.seed, parent=parent or self.best, base=self.base, **more)

    def ask(self, operator: Operator, parent: Candidate | None = None, **more: Any) -> tuple[Order, Draft]:
        self.number += 1
        order = self.order(self.number, parent, **more)
        return order, operator.propose(order, self.source)

    def admit(self, operator: Operator, order: Order, draft: Draft, name: str | None = None) -> Candidate:
        """Judge a draft and tell the operator."""
        tree = self.store.write_tree(order.parent.id, draft.changes)
        new = tree not in self.candidates
        if new:
            changed = self.store.changed_paths(order.parent.id, tree)
            ids = (order.parent.id,)
            self.candidates[tree] = Candidate(
                tree,
                tree[:8],
                len(self.candidates),
                ids,
                order.number,
                operator.name,
                draft.summary,
                {},
                changed,
            )
        candidate = self.candidates[tree]
        merit = self.merits.setdefault(tree, self.merit_of(self.files(candidate)))
        before = self.merits[order.parent.id]
        proposal = Proposal(
            order.number,
            name or operator.name,
            order.parent.id,
            Basis(0, 0),
            state="done",
            outcome="candidate" if new else "duplicate",
            candidate=tree,
            payload=draft.payload,
            gain=merit - before if new and merit is not None and before is not None else None,
        )
        self.history.append((proposal, candidate, merit))
        operator.observe(proposal, candidate, merit)
        best = self.merits[self.best.id]
        if merit is not None and (best is None or merit > best):
            self.best = candidate
        return candidate

    def run(self, operator: Operator, proposals: int) -> list[Draft]:
        drafts = []
        for _ in range(proposals):
            order, draft = self.ask(operator)
            self.admit(operator, order, draft)
            drafts.append(draft)
        return drafts

    @property
    def best_merit(self) -> float | None:
        return self.merits[self.best.id]
