"""How one measure is cut into bins.

A grid is only as good as its edges. Fixed edges need a user who knows the range of every measure before the
first candidate exists; edges that stretch with the smallest and largest value seen are ruined by one
outlier. Quantiles of what was seen need no knowledge, but over all observations they are ruined too: most
candidates of a search share a value (a numeric search never changes the number of lines), the quantiles
collapse onto it, and the grid is one cell.

So adaptive edges are quantiles over the *distinct* values seen: each value counts once, however often it
comes. The distinct values are kept in a sorted sample of bounded size; when it is full, every second one is
dropped, so that old values fade and the edges follow a search that moves. Edges are looked at again after
the number of distinct values has grown by an eighth, and replaced only when they have drifted: when a bin
holds more than twice its share, or more bins could be filled. Everything follows from the order of the
observations alone, so the same history gives the same bins.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from archives.errors import ConfigError

Coordinate = int | str
Cell = tuple[Coordinate, ...]

MISSING = "missing"
OTHER = "other"
DEFAULT_BINS = 10
MAX_CATEGORIES = 32
SAMPLE = 2048
_EPSILON = 1e-6  # absorbs rounding at an edge, as pyribs does: 0.29 in hundredths belongs to bin 29
_LABEL_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a grid.

    Attributes:
        name: Measure it shows.
        bins: Number of bins of a numeric measure (10 if not given); of text without `values`, the most
            categories that get a bin of their own (32 if not given).
        low: Lower end; with `high` given too the edges are fixed, otherwise they adapt to what is seen.
        high: Upper end. Values beyond an end fall into the outermost bin.
        values: The categories of a categorical measure; everything else shares the bin "other".
    """

    name: str
    bins: int | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        where = f"measure {self.name!r}"
        if self.bins is not None and self.bins < 1:
            raise ConfigError(f"{where}: bins = {self.bins}; give at least 1")
        if any(end is not None and not math.isfinite(end) for end in (self.low, self.high)):
            raise ConfigError(f"{where}: low and high must be finite; leave them out for adaptive bins")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ConfigError(f"{where}: low = {self.low:g} is not below high = {self.high:g}")
        if not math.isfinite(((self.high or 0.0) - (self.low or 0.0)) * (self.bins or DEFAULT_BINS)):
            raise ConfigError(f"{where}: low and high are too far apart; leave them out for adaptive bins")
        if self.values is not None and (not self.values or len(set(self.values)) < len(self.values)):
            raise ConfigError(f"{where}: values must name at least one category, each only once")


class Binning:
    """The current bins of one axis."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        self.edges: tuple[float, ...] = ()
        """Inner edges, ascending; a value on an edge belongs to the bin above. Empty for categories."""
        self._bins = axis.bins or DEFAULT_BINS
        self._fixed: tuple[float, float] | None = None
        if axis.values is None and axis.low is not None and axis.high is not None:
            self._fixed = (axis.low, axis.high)
            step = (axis.high - axis.low) / self._bins
            self.edges = tuple(axis.low + step * i for i in range(1, self._bins))
        self._categories: dict[str, None] = dict.fromkeys(axis.values or ())
        self._numeric = self._fixed is not None
        self._sample: list[float] = []
        self._fresh = 0
        self._distinct = 0

    @property
    def size(self) -> int:
        """Number of bins that can be filled, those for missing and other values apart."""
        return (len(self.edges) + 1 if self._numeric else 0) + len(self._categories)

    def coordinate(self, value: object) -> Coordinate:
        """The bin of a value; never raises, whatever the value is."""
        if isinstance(value, str) or self.axis.values is not None:
            return self._category(value)
        number = _number(value)
        if number is None:
            return MISSING
        if self._fixed is None:
            return bisect_right(self.edges, self._clip(number))
        return self._fixed_bin(number, *self._fixed)

    def observe(self, value: object) -> bool:
        """Take note of a value; True when the edges have moved, so that every cell must be found anew."""
        if self.axis.values is not None:
            return False
        if isinstance(value, str):
            if len(self._categories) < (self.axis.bins or MAX_CATEGORIES):
                self._categories[value[:_LABEL_LENGTH]] = None
            return False
        number = _number(value)
        if number is None:
            return False
        self._numeric = True
        if self._fixed is not None or math.isinf(number):
            return False
        return self._sampled(self._clip(number)) and self._moved()

    def _category(self, value: object) -> str:
        if isinstance(value, str):
            label = value[:_LABEL_LENGTH]
        else:
            number = _number(value)
            if number is None:
                return MISSING
            label = f"{number:g}"
        if label in self._categories:
            return label
        full = len(self._categories) >= (self.axis.bins or MAX_CATEGORIES)
        return OTHER if self.axis.values is not None or full else label

    def _fixed_bin(self, number: float, low: float, high: float) -> int:
        if number <= low:
            return 0
        if number >= high:
            return self._bins - 1
        position = (self._bins * (number - low) + _EPSILON) / (high - low)
        return min(int(position), self._bins - 1)

    def _clip(self, number: float) -> float:
        if self.axis.low is not None:
            number = max(number, self.axis.low)
        return number if self.axis.high is None else min(number, self.axis.high)

    def _sampled(self, number: float) -> bool:
        """Put a new value into the sample; False when it was known."""
        at = bisect_left(self._sample, number)
        if at < len(self._sample) and self._sample[at] == number:
            return False
        insort(self._sample, number)
        if len(self._sample) > SAMPLE:
            self._sample = self._sample[::2]
        return True

    def _moved(self) -> bool:
        self._fresh += 1
        self._distinct += 1
        if self._fresh < max(1, self._distinct // 8):
            return False
        self._fresh = 0
        if not self._drifted():
            return False
        before, self.edges = self.edges, _quantile_edges(self._sample, self._bins)
        return self.edges != before

    def _drifted(self) -> bool:
        possible = min(self._bins, len(self._sample))
        if len(self.edges) + 1 < possible:
            return True
        cuts = [0, *(bisect_left(self._sample, edge) for edge in self.edges), len(self._sample)]
        fullest = max(upper - lower for lower, upper in pairwise(cuts))
        return fullest > 2 * math.ceil(len(self._sample) / possible)


def _number(value: object) -> float | None:
    """A real number as a float, infinities included; None for anything else."""
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def _quantile_edges(distinct: Sequence[float], bins: int) -> tuple[float, ...]:
    """Edges, half way between neighbours, that share sorted distinct values evenly among the bins."""
    count = min(bins, len(distinct))
    cuts = [i * len(distinct) // count for i in range(1, count)]
    return tuple(distinct[cut - 1] / 2 + distinct[cut] / 2 for cut in cuts)
