"""The quality-diversity archive: the best candidates of every kind.

MAP-Elites (Mouret & Clune 2015) keeps the best candidate of each cell of a grid over behaviour measures.
Three things go beyond it here.

*Depth.* A cell holds the `depth` best candidates. Under noise the single highest score is mostly luck:
measured at equal cost, keep-the-maximum records elites two standard deviations better than they are.

*Shrinkage.* When the noise of one evaluation is known, candidates are ranked by the posterior mean (n·y/σ²
+ μ/τ²) / (n/σ² + 1/τ²) of their n evaluations with mean y, so that one lucky run does not beat three good
ones. μ and τ, the centre and spread of true merits, are estimated robustly (median, quartiles) from the
latest candidates, and looked at again at intervals, not at each step: for equal n they do not matter to the
order.

*Moving edges* (see `binning`). When edges move, or a re-tested elite falls, a cell may want an entry that
lost against one that is gone. A grid that forgets the losers cannot give it: with merit that grows along a
measure, all cells but the last stay empty after each move. So every entry is remembered, sorted within its
cell, and what a cell *holds* is a view of its first `depth`: at any time exactly the best of all that was
ever added, under the edges of the moment. Adding is a binary search; edges and prior are looked at again
each time the campaign has grown by a fixed share, so re-arranging costs a constant per addition.

The grid is a derived view. Its state follows from the sequence of additions, and `rebuild` from the same
sequence, with these axes or others, is all it takes to restore or re-arrange it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from archives.binning import MISSING, OTHER, Axis, Binning, Cell
from archives.errors import ConfigError

__all__ = ["Axis", "Cell", "Entry", "Grid", "Placement", "Status"]

Status = Literal["new", "improved", "kept", "rejected"]

_RECENT = 512
_ENOUGH = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate as the grid sees it.

    Attributes:
        candidate: Its id.
        merit: Mean of its evaluations, turned so that higher is better; finite.
        measures: Where it belongs; a measure that is missing puts it into a bin of its own.
        count: Number of evaluations behind `merit`.
    """

    candidate: str
    merit: float
    measures: Mapping[str, float | str]
    count: int = 1

    def __post_init__(self) -> None:
        if not math.isfinite(self.merit):
            raise ValueError(f"merit of candidate {self.candidate} is {self.merit}; it must be finite")
        # The caller may go on writing into its own mapping; an entry is a fact.
        object.__setattr__(self, "measures", dict(self.measures))
        if self.count < 1:
            raise ValueError(f"candidate {self.candidate} has {self.count} evaluations; give at least 1")


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of an addition.

    Attributes:
        status: new: the first of its cell. improved: now the best of its cell and better than what was best.
            kept: held, but below the best or no better than before. rejected: not among its cell's best.
        cell: The cell it belongs to.
    """

    status: Status
    cell: Cell


_Rank = tuple[float, float, int]


@dataclass(slots=True, eq=False)
class _Member:
    entry: Entry
    order: int
    cell: Cell = ()
    rank: _Rank = (0.0, 0.0, 0)


@dataclass(slots=True)
class _Prior:
    """What the latest merits say of true ones; independent of the noise, which may become known later."""

    centre: float = 0.0
    spread: float = math.inf
    looks: float = 0.0
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    due: int = _ENOUGH

    def learn(self) -> None:
        """Estimate centre and spread of the latest merits, and the mean of 1 / count."""
        merits = sorted(merit for merit, _ in self.recent)
        quarter = len(merits) // 4
        self.centre = merits[len(merits) // 2]
        # The quartiles of a normal distribution are 1.349 standard deviations apart.
        self.spread = (merits[-1 - quarter] - merits[quarter]) / 1.349
        self.looks = math.fsum(1 / count for _, count in self.recent) / len(self.recent)

    def weight(self, noise: float) -> float:
        """σ²/τ², the weight of the centre counted in evaluations; the spread of merits has both in it."""
        ratio = self.spread / noise if noise else math.inf
        return 1 / max(ratio * ratio - self.looks, 0.01)


class Grid:
    """A grid of elites over any mix of numeric and categorical measures.

    Args:
        axes: The measures that span it; none at all makes one single cell.
        depth: How many candidates a cell holds.
        noise: Standard deviation of one evaluation of the merit; 0 ranks by the plain mean.
    """

    def __init__(self, axes: Sequence[Axis], depth: int = 1, noise: float = 0.0) -> None:
        names = [axis.name for axis in axes]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"measure {name!r} is given twice; give each axis of the archive once")
        if depth < 1:
            raise ConfigError(f"the archive's depth is {depth}; give at least 1")
        _check_noise(noise)
        self.axes = tuple(axes)
        self.depth = depth
        self._noise = noise
        self.version = 0
        """Grows with each change of what the cells hold."""
        self._binnings = [Binning(axis) for axis in axes]
        self._members: dict[str, _Member] = {}
        self._in_order: list[_Member] = []
        self._cells: dict[Cell, list[_Rank]] = {}
        self._prior = _Prior()
        self._weight = 0.0
        self._view: dict[Cell, tuple[Entry, ...]] | None = None

    @classmethod
    def rebuild(cls, axes: Sequence[Axis], depth: int, entries: Iterable[Entry], noise: float = 0.0) -> Grid:
        """The grid that adding these entries in this order leads to."""
        grid = cls(axes, depth, noise)
        for entry in entries:
            grid.add(entry)
        return grid

    @property
    def noise(self) -> float:
        """Standard deviation of one evaluation; set later, the grid is as if it had always been known."""
        return self._noise

    @noise.setter
    def noise(self, noise: float) -> None:
        _check_noise(noise)
        self._noise = noise
        self._weight = self._prior.weight(noise)
        self._rearrange()

    def add(self, entry: Entry) -> Placement:
        """Add a candidate, or update one that is already held; a tie keeps the one that came first."""
        known = self._members.get(entry.candidate)
        self._observe(entry, new=known is None)
        target = self.cell_of(entry.measures)
        return self._added(entry, target) if known is None else self._updated(known, entry, target)

    def _added(self, entry: Entry, cell: Cell) -> Placement:
        member = self._members[entry.candidate] = _Member(entry, len(self._in_order))
        self._in_order.append(member)
        place = self._insert(member, cell)
        if place < self.depth:
            self._changed()
        if len(self._cells[cell]) == 1:
            return Placement("new", cell)
        return Placement(self._status(place, better=True), cell)

    def _updated(self, member: _Member, entry: Entry, target: Cell) -> Placement:
        fell = entry.merit <= member.entry.merit
        before = {target: self._held(target), member.cell: self._held(member.cell)}
        self._remove(member)
        member.entry = entry
        place = self._insert(member, target)
        if any(self._held(cell) != entries for cell, entries in before.items()):
            self._changed()
        if not before[target]:
            return Placement("new", target)
        led = before[target][0].candidate == entry.candidate
        return Placement(self._status(place, better=not (led and fell)), target)

    def entry(self, candidate: str) -> Entry:
        """What was added last of a candidate; KeyError if it never was."""
        return self._members[candidate].entry

    def cell_of(self, measures: Mapping[str, float | str]) -> Cell:
        """The cell these measures fall into, with the edges as they are now."""
        return tuple(binning.coordinate(measures.get(binning.axis.name)) for binning in self._binnings)

    def cells(self) -> dict[Cell, tuple[Entry, ...]]:
        """What each filled cell holds, best first; cells in the order of their bins."""
        if self._view is None:
            self._view = {cell: self._held(cell) for cell in sorted(self._cells, key=_bin_order)}
        return dict(self._view)

    def elites(self) -> list[Entry]:
        """The best entry of each filled cell, in the order of the cells."""
        return [entries[0] for entries in self.cells().values()]

    @property
    def best(self) -> Entry | None:
        """The entry ranked highest of all; it is never lost, however the edges move."""
        tops = [ranks[0] for ranks in self._cells.values()]
        return self._in_order[min(tops)[2]].entry if tops else None

    def edges(self, name: str) -> tuple[float, ...]:
        """Inner edges of the bins of an axis as they are now, ascending; empty for categories."""
        return next(binning.edges for binning in self._binnings if binning.axis.name == name)

    def estimate(self, entry: Entry) -> float:
        """The merit an entry is ranked by: its mean, shrunk towards the centre of all when there is noise."""
        share = entry.count / (entry.count + self._weight)
        return share * entry.merit + (1 - share) * self._prior.centre

    def merit_for(self, estimate: float, count: int) -> float:
        """The mean merit of so many evaluations that is ranked at an estimate."""
        share = count / (count + self._weight)
        return self._prior.centre + (estimate - self._prior.centre) / share

    @property
    def coverage(self) -> float:
        """Share of the cells that are filled, those for missing and other values left out of both counts."""
        filled = sum(1 for cell in self._cells if MISSING not in cell and OTHER not in cell)
        return filled / max(1, math.prod(binning.size for binning in self._binnings))

    def qd_score(self, offset: float = 0.0) -> float:
        """Sum over the filled cells of the best estimated merit less `offset`, the lowest merit possible."""
        return sum(self.estimate(entry) - offset for entry in self.elites())

    def _observe(self, entry: Entry, new: bool) -> None:
        moved = [
            binning.observe(entry.measures[binning.axis.name])
            for binning in self._binnings
            if binning.axis.name in entry.measures
        ]
        learned = new and self._learned(entry)
        if any(moved) or (learned and self._noise):
            self._rearrange()

    def _learned(self, entry: Entry) -> bool:
        self._prior.recent.append((entry.merit, entry.count))
        seen = len(self._in_order) + 1
        if seen < self._prior.due:
            return False
        self._prior.due = seen + max(_ENOUGH, seen // 4)
        self._prior.learn()
        self._weight = self._prior.weight(self._noise)
        return True

    def _rearrange(self) -> None:
        before = {cell: self._held(cell) for cell in self._cells}
        self._cells.clear()
        for member in self._in_order:
            member.cell = self.cell_of(member.entry.measures)
            member.rank = self._rank(member)
            self._cells.setdefault(member.cell, []).append(member.rank)
        for ranks in self._cells.values():
            ranks.sort()
        if {cell: self._held(cell) for cell in self._cells} != before:
            self._changed()

    def _rank(self, member: _Member) -> _Rank:
        return (-self.estimate(member.entry), -member.entry.merit, member.order)

    def _insert(self, member: _Member, cell: Cell) -> int:
        """Put a member into a cell; returns its place there, from 0."""
        ranks = self._cells.setdefault(cell, [])
        member.cell = cell
        member.rank = self._rank(member)
        place = bisect_left(ranks, member.rank)
        ranks.insert(place, member.rank)
        return place

    def _remove(self, member: _Member) -> None:
        ranks = self._cells[member.cell]
        del ranks[bisect_left(ranks, member.rank)]
        if not ranks:
            del self._cells[member.cell]

    def _held(self, cell: Cell) -> tuple[Entry, ...]:
        return tuple([self._in_order[rank[2]].entry for rank in self._cells.get(cell, ())[: self.depth]])

    def _status(self, place: int, better: bool) -> Status:
        if place >= self.depth:
            return "rejected"
        return "improved" if place == 0 and better else "kept"

    def _changed(self) -> None:
        self.version += 1
        self._view = None


def _check_noise(noise: float) -> None:
    if not (math.isfinite(noise) and noise >= 0):
        raise ConfigError(f"the archive's noise is {noise}; give a finite number that is not negative")


def _bin_order(cell: Cell) -> tuple[tuple[bool, int, str], ...]:
    return tuple(
        (isinstance(part, str), 0 if isinstance(part, str) else part, part if isinstance(part, str) else "")
        for part in cell
    )
