"""Tune the numbers of the artifact: CMA-ES over its numeric literals, in any text file.

Every *skeleton* (the files with their numbers blanked out) has one search of its own, see `search`. What
happened is only noted in `observe`; it is worked through, in the same order, when the next proposal is
asked for, because only then there is a store to read candidates from. So a resumed campaign, which
observes its whole journal before it asks, arrives at the same state as one that never stopped.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archives.records import Candidate, Proposal
from evolve.operators import literals, searchstate
from evolve.operators.artifact import Artifact, Artifacts
from evolve.operators.base import Draft, Needs, Order, Refused, Source
from evolve.operators.coordinates import Axis
from evolve.operators.search import NumberSearch
from evolve.randomness import key

ATTEMPTS = 12
MAX_SEARCHES = 256


@dataclass(frozen=True, slots=True)
class _Note:
    """One observation that is not worked through yet."""

    proposal: Proposal
    candidate: Candidate | None
    merit: float | None


class Tune:
    """CMA-ES over the numeric literals of the editable files."""

    name = "tune"
    is_async = False
    needs: Needs = "parent"

    def __init__(self) -> None:
        self._artifacts = Artifacts()
        self._searches: OrderedDict[str, NumberSearch] = OrderedDict()
        self._notes: deque[_Note] = deque()
        self._through = 0

    def handles(self, paths: Sequence[str]) -> bool:
        """Any text file may hold numbers."""
        return any(literals.tunable(path) for path in paths)

    def recall(self, proposal: Proposal) -> None:
        """What was asked leaves no state."""

    def observe(self, proposal: Proposal, candidate: Candidate | None, merit: float | None) -> None:
        """Note what came of a proposal of any operator."""
        own = proposal.operator == self.name and "skeleton" in proposal.payload
        helped = merit is not None and (proposal.gain is None or proposal.gain > 0)
        # Of other operators only improvements matter; reading the rest would cost more than it tells.
        if own and merit is None and proposal.gain is not None:
            return  # another evaluator judged it; what that said is not believed
        if own or (helped and candidate is not None):
            self._notes.append(_Note(proposal, candidate, merit))

    def propose(self, order: Order, source: Source) -> Draft:
        """Ask the search of the parent's skeleton for other numbers."""
        self._catch_up(source)
        artifact = self._artifacts.of(source, order.parent)
        if not artifact.literals:
            raise Refused("tune found no numbers in the files that may change")
        search = self._searches.get(artifact.skeleton) or _search(artifact)
        tried = set()
        for attempt in range(ATTEMPTS):
            ask = search.ask(key(order.seed, order.number, f"tune/{attempt}" if attempt else "tune"), attempt)
            written = search.written(ask.values)
            if written == artifact.values or written in search.seen or written in tried:
                tried.add(written)
                continue
            changes = self._artifacts.rewrite(source, artifact, written)
            notes_for_later = {"skeleton": artifact.skeleton, "values": list(ask.values), **ask.notes}
            return Draft(changes=changes, summary=summary(artifact, written), payload=notes_for_later)
        raise Refused(f"tune drew only numbers that were tried before, {ATTEMPTS} times")

    def learned(self, source: Source) -> tuple[int, Any]:
        """All searches, the one used last at the end, as JSON."""
        self._catch_up(source)
        return self._through, [[name, searchstate.state(search)] for name, search in self._searches.items()]

    def take_up(self, state: Any) -> None:
        """Go on with searches that were left."""
        self._searches = OrderedDict((name, searchstate.restored(one)) for name, one in state)

    def _catch_up(self, source: Source) -> None:
        """Work through what was noted; more may be noted meanwhile, by another thread."""
        while self._notes:
            note = self._notes.popleft()
            self._learn(note, source)
            self._through = note.proposal.admitted or self._through

    def _learn(self, note: _Note, source: Source) -> None:
        proposal, candidate, merit = note.proposal, note.candidate, note.merit
        payload = proposal.payload if proposal.operator == self.name else {}
        if candidate is None:
            if payload:
                self._tell(source, proposal, payload["skeleton"], payload["values"], None, payload)
            return
        if payload and _untouched(proposal, candidate):
            self._tell(source, proposal, payload["skeleton"], payload["values"], merit, payload)
            return
        artifact = self._artifacts.of(source, candidate)
        if artifact.literals and (merit is not None or payload):
            moved = candidate.parents[0] if candidate.rebased_from is not None else None
            self._tell(source, proposal, artifact.skeleton, artifact.values, merit, None, artifact, moved)

    def _tell(
        self,
        source: Source,
        proposal: Proposal,
        skeleton: str,
        values: Sequence[float],
        merit: float | None,
        notes: Mapping[str, Any] | None,
        artifact: Artifact | None = None,
        parent: str | None = None,
    ) -> None:
        search = self._searches.get(skeleton)
        if search is None:
            origin = self._artifacts.of_tree(source, parent or proposal.parent)
            origin = origin if origin.skeleton == skeleton else artifact or origin
            if origin.skeleton != skeleton:
                return
            search = self._searches[skeleton] = _search(origin)
            if merit is not None and proposal.gain is not None and origin is not artifact:
                search.tell(origin.values, merit - proposal.gain)
            if len(self._searches) > MAX_SEARCHES:
                self._searches.popitem(last=False)
        self._searches.move_to_end(skeleton)
        if len(values) == len(search.axes):
            search.tell(values, merit, notes)


def summary(artifact: Artifact, values: Sequence[float]) -> str:
    """One line such as "tune 3 numbers in packing.py: GAP 0.1 -> 0.14, …"."""
    moved = [
        (path, literal, value)
        for path, literal, value in zip(artifact.places, artifact.literals, values, strict=True)
        if value != literal.value
    ]
    paths = list(dict.fromkeys(path for path, _, _ in moved))
    where = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    count = "1 number" if len(moved) == 1 else f"{len(moved)} numbers"
    shown = [f"{x.name} {_short(x.value, x.integer)} -> {_short(v, x.integer)}" for _, x, v in moved[:3]]
    return f"tune {count} in {where}: {', '.join(shown)}{', …' if len(moved) > 3 else ''}"


def _short(value: float, integer: bool) -> str:
    return str(int(value)) if integer else f"{value:.4g}"


def _search(artifact: Artifact) -> NumberSearch:
    return NumberSearch([Axis.at(literal) for literal in artifact.literals])


def _untouched(proposal: Proposal, candidate: Candidate) -> bool:
    """Whether the candidate is what was drawn, and not a merge of it with something newer."""
    if candidate.proposal != proposal.number:
        return proposal.stale not in ("updated", "repaired")
    return candidate.parents[:1] == (proposal.parent,)
