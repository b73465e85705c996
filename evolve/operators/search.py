"""A search over the numbers of one skeleton, by ask and tell.

A campaign may pay for twenty evaluations or for twenty thousand, and results come back late, out of
order and mixed with those of other operators. Three things follow.

*First probes, then a distribution.* A fresh CMA-ES moves all numbers at once and needs some generations
before it knows which of them matter. So each number is first tried alone, up and (where that did not
help) down, with a step that doubles as long as it helps: Rosenbrock's coordinate search (1960).
Successes add up, as each probe starts from the best point known. The probes also tell which numbers
break the program whenever they move (left alone from then on) and which change nothing at all (tried
again when others have been improved, then left alone until the search widens).

*Then CMA-ES* (Hansen and Ostermeier 2001; the separable variant by Ros and Hansen 2008 above 60
numbers), around the best point, each number scaled by what its probes taught. A generation is told when
as many results are in as it has members, whoever made them; points it did not draw itself are shortened
to a plausible length before they are told (Hansen 2011, "Injecting external solutions into CMA-ES"). A
better point too far away for that starts it anew around that point. It restarts when it has converged or
won nothing for long: in turn narrow around the best point, and wide with twice the population (after
Auger and Hansen's IPOP, 2005).

*Asking leaves no trace.* All state changes in `tell`, so telling the same results in the same order
always gives the same state, and a draw depends on that state and its own key only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evolve.operators.coordinates import Axis
from evolve.operators.numerics import numpy, optimiser

SEPARABLE_ABOVE = 60
MAX_PROBED = 24
"""Numbers that are probed one by one; with more, a distribution from the start is cheaper for the rest."""
MAX_ROUNDS = 3
"""How often a number without effect is probed anew after others have been improved."""
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Ask:
    """A point to try, with the notes that `tell` wants back (JSON)."""

    values: tuple[float, ...]
    notes: Mapping[str, Any]


class _Probe:
    """What is known of one number from moving it alone."""

    def __init__(self) -> None:
        self.size = {1: 1.0, -1: 1.0}
        self.closed = {1: False, -1: False}
        self.won = 0.0
        self.judged = self.changed = 0
        self.tried = 0
        self.rounds = 1
        self.seen_wins = 0

    @property
    def sign(self) -> int:
        """The direction to try next; 0 when both are used up."""
        return next((sign for sign in (1, -1) if not self.closed[sign]), 0)

    @property
    def spread(self) -> float:
        """How widely a distribution should vary this number."""
        return min(max(self.won / 2, 0.5), 1.5) if self.tried else 0.7

    @property
    def idle(self) -> bool:
        """Whether moving it has never changed anything."""
        return self.judged > 0 and self.changed == 0

    def reopen(self, wins: int) -> None:
        """Try it again if it was idle but the rest has changed since: it may matter by now."""
        if self.idle and wins > self.seen_wins and self.rounds < MAX_ROUNDS:
            self.closed = {1: False, -1: False}
            self.rounds += 1

    def tell(self, step: float, gain: float | None) -> None:
        """Learn from one probe; `gain` against where it started, None where it failed."""
        sign = 1 if step > 0 else -1
        self.tried += 1
        if gain is not None:
            self.judged += 1
            self.changed += gain != 0
        if gain is not None and gain > 0:
            self.closed[-sign] = True
            self.won = max(self.won, abs(step))
            self.size[sign] = min(max(self.size[sign], 2 * abs(step)), 32.0)
            self.closed[sign] = self.size[sign] >= 32
        else:
            self.closed[sign] = True


class NumberSearch:
    """Asks for points and is told results; higher merit is better, None is a failure."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        self.best = (0.0,) * len(self.axes)
        self.best_merit: float | None = None
        self.seen: dict[tuple[float, ...], None] = {}
        ranked = sorted(range(len(axes)), key=lambda i: (axes[i].literal.rank, i))
        self.probes = {i: _Probe() for i in ranked[:MAX_PROBED]}
        self.distribution: Distribution | None = None
        self.runs = 0
        self.wins = 0

    def written(self, values: Sequence[float]) -> tuple[float, ...]:
        """The values as they would be written into the files."""
        return tuple(axis.literal.fit(value) for axis, value in zip(self.axes, values, strict=True))

    def ask(self, key: int, attempt: int) -> Ask:
        """A point for this key; later attempts reach farther."""
        rng = random.Random(key)
        reach = 1.5**attempt
        pending = self._pending()
        if self.distribution is None and pending:
            hopeful = [i for i in pending if self.probes[i].won] if rng.random() < 0.7 else []
            index = rng.choice(hopeful or pending)
            return self._probe(index, rng.uniform(0.8, 1.25) * reach)
        if self.distribution is None:
            return self._probe(
                rng.randrange(len(self.axes)), rng.choice((-1, 1)) * rng.uniform(0.5, 2) * reach
            )
        point = self.distribution.ask(key & 0xFFFFFFFF, reach, self.best)
        return Ask(self._values(point), {"run": self._run()})

    def tell(
        self, values: Sequence[float], merit: float | None, notes: Mapping[str, Any] | None = None
    ) -> None:
        """Learn the merit of a point; `notes` are those of `ask`, None for a point of another origin."""
        point = tuple(axis.coordinate(value) for axis, value in zip(self.axes, values, strict=True))
        self._remember(self.written(values))
        before = self.best_merit
        better = merit is not None and (before is None or merit > before)
        if better:
            self.best, self.best_merit = point, merit
            self.wins += before is not None
        notes = notes or {}
        if "probe" in notes and notes["probe"] in self.probes:
            self._tell_probe(notes, merit, before)
        if self.distribution is not None:
            self.distribution.tell(point, merit, better, own=notes.get("run") == self._run())
            if self.distribution.finished:
                self._start()
            return
        if not self._pending():
            for probe in self.probes.values():
                probe.reopen(self.wins)
        if not self._pending():
            self._start()

    def _run(self) -> str:
        """Names the distribution a point was drawn from."""
        return f"{self.runs}.{self.distribution.moves if self.distribution is not None else 0}"

    def _remember(self, written: tuple[float, ...]) -> None:
        self.seen[written] = None
        if len(self.seen) > _REMEMBERED:
            del self.seen[next(iter(self.seen))]

    def _pending(self) -> list[int]:
        return [i for i, probe in self.probes.items() if probe.sign]

    def _probe(self, index: int, factor: float) -> Ask:
        probe = self.probes.get(index)
        step = factor * (probe.sign * probe.size[probe.sign] if probe is not None and probe.sign else 1.0)
        point = list(self.best)
        point[index] += step
        notes = {"probe": index, "step": round(step, 6), "than": self.best_merit}
        return Ask(self._values(point), notes)

    def _tell_probe(self, notes: Mapping[str, Any], merit: float | None, before: float | None) -> None:
        than = notes.get("than")
        than = before if than is None else than
        gain = None if merit is None else -1.0 if than is None else merit - than
        probe = self.probes[notes["probe"]]
        probe.tell(float(notes["step"]), gain)
        probe.seen_wins = self.wins

    def _values(self, point: Sequence[float]) -> tuple[float, ...]:
        return tuple(float(f"{axis.value(x):.12g}") for axis, x in zip(self.axes, point, strict=True))

    def _start(self) -> None:
        """Begin a distribution around the best point: first middling, then narrow and wide in turn."""
        run, self.runs = self.runs, self.runs + 1
        wide = run > 0 and run % 2 == 0
        broken = {i for i, probe in self.probes.items() if probe.tried and not probe.judged}
        idle = {i for i, probe in self.probes.items() if probe.idle}
        every = range(len(self.axes))
        active = [i for i in every if i not in broken and (wide or i not in idle)]
        active = active or [i for i in every if i not in broken] or list(every)
        spread = [self.probes[i].spread if i in self.probes else 0.7 for i in active]
        sigma = 0.6 if run == 0 else 1.5 if wide else 0.15
        growth = 2 ** min(run // 2, 3) if wide else 1
        self.distribution = Distribution(active, self.best, spread, sigma, growth)


class Distribution:
    """CMA-ES over some of the coordinates, in units of their spread."""

    def __init__(
        self,
        active: Sequence[int],
        centre: Sequence[float],
        spread: Sequence[float],
        sigma: float,
        growth: int,
    ) -> None:
        self.active = tuple(active)
        self.centre = tuple(centre[i] for i in self.active)
        self.spread = tuple(spread)
        self.sigma = sigma
        # CMA-ES has no meaning in one dimension; a second one without any effect does no harm.
        self.size = max(len(self.active), 2)
        self.members = growth * (4 + math.floor(3 * math.log(self.size)))
        self.patience = 6 + self.size // 2
        self.lost = 0
        self.won = False
        self.batch: list[tuple[Any, float | None]] = []
        self.moves = 0
        self.finished = False
        self.restart(self.centre)

    def ask(self, seed: int, reach: float, base: Sequence[float]) -> tuple[float, ...]:
        """A draw; numbers outside the search stay as they are in `base`."""
        self.cma.reseed_rng(seed)
        mean = self.cma.mean
        drawn = mean + (self.cma.ask() - mean) * reach
        point = list(base)
        for place, index in enumerate(self.active):
            point[index] = self.centre[place] + self.spread[place] * float(drawn[place])
        return tuple(point)

    def tell(self, point: Sequence[float], merit: float | None, better: bool, own: bool) -> None:
        """Take one result into the running generation, and end that when it is complete."""
        y = self._inner(point)
        if not own:
            length, usual = self._length(y), math.sqrt(self.size) + 2 * self.size / (self.size + 2)
            if better and length > 3 * usual:
                self.moves += 1
                self.restart([point[i] for i in self.active])
                return
            if length > usual:
                y = self.cma.mean + (y - self.cma.mean) * (usual / length)
        self.won = self.won or better
        self.batch.append((y, merit))
        if len(self.batch) >= self.members:
            self._generation()

    def _generation(self) -> None:
        batch, self.batch = self.batch, []
        self.lost, self.won = (0 if self.won else self.lost + 1), False
        # Ranks instead of merits: infinities of failures and the scale of the objective do not matter.
        order = sorted(range(len(batch)), key=lambda i: (batch[i][1] is None, -(batch[i][1] or 0.0), i))
        judged = sum(merit is not None for _, merit in batch)
        if judged:
            self.cma.tell([(batch[i][0], float(rank)) for rank, i in enumerate(order)])
        tiny = float(self.cma._sigma) < 1e-5
        self.finished = not judged or tiny or self.lost > self.patience or bool(self.cma.should_stop())

    def restart(self, centre: Sequence[float]) -> None:
        """Begin anew around a point, given by its active coordinates."""
        self.centre = tuple(centre)
        self.batch = []
        self.lost = 0
        kind = optimiser(separable=self.size > SEPARABLE_ABOVE)
        self.cma = kind(mean=numpy().zeros(self.size), sigma=self.sigma, population_size=self.members, seed=0)

    def _inner(self, point: Sequence[float]) -> Any:
        y = numpy().zeros(self.size)
        for place, index in enumerate(self.active):
            y[place] = (point[index] - self.centre[place]) / self.spread[place]
        return y

    def _length(self, y: Any) -> float:
        """Mahalanobis length of a point from the mean."""
        np = numpy()
        away = (y - self.cma.mean) / self.cma._sigma
        covariance = self.cma._C
        if covariance.ndim == 1:
            return float(np.sqrt(np.sum(away**2 / np.maximum(covariance, 1e-300))))
        return float(np.sqrt(max(float(away @ np.linalg.solve(covariance, away)), 0.0)))
