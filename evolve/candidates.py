"""The candidates of a campaign by id, without keeping them all in memory.

A campaign of 100,000 candidates knows of each whether it exists, its number and its parents; a search asks
for the rest of few, mostly the same ones. So the rest is read from the journal when it is asked for, and the
latest few are kept. A candidate made a moment ago, which the journal may not have yet, is kept until it has.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from archives.records import Candidate

RECENT = 2048
"""Candidates kept whole."""


class Candidates(Mapping[str, Candidate]):
    """Candidates by id, in the order in which they were added; may be used from several threads.

    Args:
        fetch: Reads a candidate from the journal; None where it is not there.
    """

    def __init__(self, fetch: Callable[[str], Candidate | None]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._parents: dict[str, tuple[str, ...]] = {}
        self._recent: OrderedDict[str, Candidate] = OrderedDict()
        self._unwritten: dict[str, Candidate] = {}

    def add(self, candidate: Candidate) -> None:
        """Know of a candidate that may not be in the journal yet."""
        self._unwritten[candidate.id] = candidate
        self._parents[candidate.id] = candidate.parents

    def know(self, id: str, parents: tuple[str, ...]) -> None:
        """Know of a candidate that is in the journal."""
        self._parents[id] = parents

    def wrote(self, id: str) -> None:
        """Know that a candidate is in the journal now."""
        candidate = self._unwritten.get(id)
        if candidate is not None:
            self._keep(candidate)
            del self._unwritten[id]

    def parents(self, id: str) -> tuple[str, ...]:
        """Ids of its Git parents."""
        return self._parents[id]

    def __getitem__(self, id: str) -> Candidate:
        found = self._recent.get(id) or self._unwritten.get(id)
        if found is None:
            if id not in self._parents:
                raise KeyError(id)
            with self._lock:
                found = self._fetch(id)
            if found is None:
                raise KeyError(id)
            self._keep(found)
        return found

    def __contains__(self, id: object) -> bool:
        return id in self._parents

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def __len__(self) -> int:
        return len(self._parents)

    def _keep(self, candidate: Candidate) -> None:
        with self._lock:
            self._recent[candidate.id] = candidate
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)
