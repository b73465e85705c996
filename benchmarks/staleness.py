"""Stale work: what each treatment of it is worth while the champion moves often.

    python benchmarks/staleness.py            a few minutes
    python benchmarks/staleness.py --quick    half a minute

A campaign in memory on virtual time. The artifact is a text of K lines; a proposal sets one of them to another
value, and the benefits of all lines add up (in a second landscape, neighbours also interact). W proposals are in
flight, each with a latency of its own (lognormal, sigma 0.8), and so are their evaluations. What is stale, what is
put onto what, and which version goes on is decided by the functions the campaigns use (`evolve.staleness`), merges
by the one they use (`evolve.operators.merging`). `repair` asks an oracle that, of two contradicting values, keeps
the better one: an upper bound for a model. All draws are keyed by seed and number of the proposal, so the same
seeds are compared under each treatment; intervals are 95 % of the paired differences.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import itertools

from archives.grid import Axis
from archives.records import Basis, Candidate, Champion, Evaluation, Proposal
from evolve.operators.merging import merge_text
from evolve.policies.champion import ChampionPolicy
from evolve.policies.qd import QualityDiversityPolicy
from evolve.population import Population
from evolve.randomness import rng
from evolve.staleness import best_version, outdated, successor
from evolve.statistics import t_quantile

PLACES = 40
VALUES = 10
POLICIES = (QualityDiversityPolicy(), ChampionPolicy())
TREATMENTS = ("accept", "discard", "update", "repair", "update, conflicts dropped", "update and distill")
BATCH = 3
"""Changes that helped and lost their chance, from which on they are distilled into one."""


class Landscape:
    """What each text is worth.

    Args:
        seed: Key of all benefits.
        interaction: Standard deviation of what two neighbouring values are worth together.
    """

    def __init__(self, seed: int, interaction: float) -> None:
        self._alone = [[0.0, *self._draws(seed, place, "alone", 1.0)] for place in range(PLACES)]
        pairs = VALUES * VALUES
        self._together = [
            list(self._draws(seed, place, "together", interaction, pairs)) for place in range(PLACES)
        ]

    def _draws(
        self, seed: int, place: int, purpose: str, spread: float, n: int = VALUES - 1
    ) -> Iterator[float]:
        draw = rng(seed, place, purpose)
        return (draw.gauss(-0.5 * spread if n < VALUES else 0.0, spread) for _ in range(n))

    def worth(self, text: str) -> float:
        """The score of a text."""
        values = read(text)
        alone = math.fsum(self._alone[k][v] for k, v in enumerate(values))
        pairs = itertools.pairwise(values)
        return alone + math.fsum(
            self._together[k][a * VALUES + b] for k, (a, b) in enumerate(pairs) if a or b
        )


def read(text: str) -> list[int]:
    """The values in a text."""
    return [int(line.partition("=")[2]) for line in text.splitlines()]


def written(values: list[int]) -> str:
    """A text with these values."""
    return "".join(f"P{place} = {value}\n" for place, value in enumerate(values))


@dataclass
class Flight:
    """A proposal under way."""

    proposal: Proposal
    treated: str = ""
    asked: bool = False


@dataclass
class Campaign:
    """One campaign in memory.

    Attributes:
        seed: Key of all draws.
        treatment: One of `TREATMENTS`.
        width: Proposals in flight.
        proposals: Most proposals.
        evaluations: Most evaluations.
        stale_after: Champions that a basis may be behind.
        interaction: See `Landscape`.
    """

    seed: int
    treatment: str
    width: int
    proposals: float = math.inf
    evaluations: float = math.inf
    stale_after: int = 0
    interaction: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)
    judged: int = 0
    number: int = 0
    fates: dict[str, int] = field(default_factory=dict)
    queue: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    order: int = 0
    overtaken: list[str] = field(default_factory=list)

    def run(self) -> float:
        """Score of the last champion."""
        self.land = Landscape(self.seed, self.interaction)
        self.population = Population("maximize", [Axis("changed", bins=8)])
        base = self._candidate(written([0] * PLACES), (), 0)
        assert base is not None
        self._hear(base, 0)
        self.population.crown(Champion(0, base.id))
        for _ in range(self.width):
            self._select(0.0)
        while self.queue:
            now, _, step = heapq.heappop(self.queue)
            step(now)
        return self.population.merit(self.population.champion.candidate) or 0.0

    def _at(self, moment: float, step: Callable[[float], None]) -> None:
        self.order += 1
        heapq.heappush(self.queue, (moment, self.order, step))

    def _latency(self, number: int, purpose: str, median: float) -> float:
        return median * rng(self.seed, number, purpose).lognormvariate(0, 0.8)

    def _basis(self) -> Basis:
        return Basis(self.population.champion.version, self.population.grid.version)

    def _select(self, now: float) -> None:
        if self.number >= self.proposals or self.judged >= self.evaluations:
            return
        self.number += 1
        number = self.number
        if self.treatment == "update and distill" and len(self.overtaken) >= BATCH:
            self._distill(number, now)
            return
        policy = POLICIES[rng(self.seed, number, "policy").randrange(len(POLICIES))]
        parent = policy.parent(self.population, rng(self.seed, number, "parent"))
        flight = Flight(Proposal(number, "edit", parent, self._basis(), policy=policy.name))
        self._at(now + self._latency(number, "propose", 1.0), lambda then: self._made(flight, then))

    def _distill(self, number: int, now: float) -> None:
        """All changes that helped their parents but not the champion, in one candidate on it."""
        champion = self.population.champion.candidate
        text = self.texts[champion]
        batch, self.overtaken = self.overtaken, []
        for name in batch:
            before = self.texts[self.population.candidates[name].parents[0]]
            text = merge_text(before, text, self.texts[name]) or text
        flight = Flight(Proposal(number, "distill", champion, self._basis(), policy="champion"))
        self._judge(flight, text, champion, None, now)

    def _made(self, flight: Flight, now: float) -> None:
        proposal = flight.proposal
        draw = rng(self.seed, proposal.number, "change")
        values = read(self.texts[proposal.parent])
        place = draw.randrange(PLACES)
        values[place] = (values[place] + draw.randrange(1, VALUES)) % VALUES
        text = written(values)
        onto = self._successor(proposal)
        if onto is None or self.treatment == "accept":
            self._judge(flight, text, proposal.parent, None, now)
        elif self.treatment == "discard":
            self._count("dropped")
            self._admit(flight, now)
        else:
            merged = self._merged(proposal.parent, onto, text, flight)
            if merged is not None:
                flight.proposal = replace(proposal, basis=self._basis())
                self._judge(flight, merged, onto, proposal.parent, now)
            elif self.treatment == "update, conflicts dropped":
                self._count("dropped")
                self._admit(flight, now)
            else:
                self._judge(flight, text, proposal.parent, None, now)

    def _successor(self, proposal: Proposal) -> str | None:
        held = (self.population, proposal.basis, proposal.policy, proposal.parent)
        return successor(*held, self.stale_after)

    def _merged(self, ancestor: str, onto: str, text: str, flight: Flight) -> str | None:
        """The change on the newer parent; None where both sides contradict each other."""
        flight.treated = "stale"
        old, here = self.texts[ancestor], self.texts[onto]
        merged = merge_text(old, here, text)
        if merged is not None:
            self._count("updated")
            return merged
        self._count("conflicting")
        if self.treatment != "repair" or flight.asked:
            return None
        flight.asked = True
        both = [
            theirs if before != theirs else ours
            for before, ours, theirs in zip(read(old), read(here), read(text), strict=True)
        ]
        better = written(both)
        if self.land.worth(better) <= self.land.worth(here):
            return None
        self._count("repaired")
        return better

    def _judge(self, flight: Flight, text: str, parent: str, origin: str | None, now: float) -> None:
        candidate = self._candidate(text, (parent,), flight.proposal.number, origin)
        if candidate is None:
            self._challenge(flight, now)
            return
        flight.proposal = replace(flight.proposal, outcome="candidate", candidate=candidate.id)
        wait = self._latency(flight.proposal.number, f"evaluate {candidate.id}", 0.5)
        self._at(now + wait, lambda then: self._result(flight, candidate, then))

    def _result(self, flight: Flight, candidate: Candidate, now: float) -> None:
        if self.judged < self.evaluations:
            self._hear(candidate, flight.proposal.number)
            if self.treatment.startswith(("update", "repair")) and self._again(flight, candidate, now):
                return
        self._challenge(flight, now)

    def _again(self, flight: Flight, candidate: Candidate, now: float) -> bool:
        """Put a judged change onto what overtook its parent meanwhile, if it helped."""
        onto = outdated(self.population, flight.proposal, self.stale_after)
        if onto is None:
            return False
        merged = self._merged(candidate.parents[0], onto, self.texts[candidate.id], flight)
        if merged is None or merged == self.texts[onto]:
            return False
        flight.proposal = replace(flight.proposal, basis=self._basis())
        self._judge(flight, merged, onto, candidate.id, now)
        return True

    def _challenge(self, flight: Flight, now: float) -> None:
        if flight.proposal.candidate is not None:
            best = best_version(self.population, self.population.candidates[flight.proposal.candidate])
            mine = self.population.merit(best.id)
            champion = self.population.champion
            if mine is not None and mine > (self.population.merit(champion.candidate) or 0.0):
                self.population.crown(Champion(champion.version + 1, best.id))
        self._admit(flight, now)

    def _admit(self, flight: Flight, now: float) -> None:
        self._remember(flight)
        self._select(now)

    def _remember(self, flight: Flight) -> None:
        if flight.proposal.candidate is None or not flight.treated:
            return
        candidate = self.population.candidates[flight.proposal.candidate]
        mine = self.population.merit(candidate.id)
        theirs = self.population.merit(candidate.parents[0])
        helped = mine is not None and theirs is not None and mine > theirs
        if helped and candidate.id != self.population.champion.candidate:
            self.overtaken.append(candidate.id)

    def _candidate(
        self, text: str, parents: tuple[str, ...], number: int, origin: str | None = None
    ) -> Candidate | None:
        name = hashlib.sha1(text.encode()).hexdigest()
        if name in self.texts:
            return None
        self.texts[name] = text
        changed = float(sum(value != 0 for value in read(text)))
        candidate = Candidate(
            name, name, len(self.texts) - 1, parents, number, "edit", "", {"changed": changed}, (), origin
        )
        self.population.add(candidate)
        return candidate

    def _hear(self, candidate: Candidate, number: int) -> None:
        self.judged += 1
        score = self.land.worth(self.texts[candidate.id])
        self.population.hear(Evaluation(self.judged, candidate.id, number, "judged", score=score))

    def _count(self, fate: str) -> None:
        self.fates[fate] = self.fates.get(fate, 0) + 1


def interval(differences: list[float]) -> tuple[float, float]:
    """Mean of paired differences and half the width of its 95 % interval."""
    n = len(differences)
    error = statistics.stdev(differences) / math.sqrt(n)
    return statistics.mean(differences), t_quantile(0.975, n - 1) * error


def table(title: str, seeds: range, width: int, **limits: float) -> None:
    """Print how the treatments fare under one budget."""
    print(f"\n{title}; {width} in flight, {len(seeds)} paired seeds\n")
    heads = f"{'score':>8} {'evaluations':>12} {'champions':>10} {'conflicts':>10}"
    print(f"  {'':28}{heads}   update minus this (95 %)")
    scores: dict[str, list[float]] = {}
    rows: dict[str, str] = {}
    for treatment in TREATMENTS:
        campaigns = [Campaign(seed, treatment, width, **limits) for seed in seeds]  # type: ignore[arg-type]
        scores[treatment] = [one.run() for one in campaigns]
        counts = [
            statistics.mean(one.judged for one in campaigns),
            statistics.mean(one.population.champion.version for one in campaigns),
            statistics.mean(one.fates.get("conflicting", 0) for one in campaigns),
        ]
        numbers = f"{counts[0]:12.0f} {counts[1]:10.1f} {counts[2]:10.1f}"
        rows[treatment] = f"{statistics.mean(scores[treatment]):8.2f} {numbers}"
    for treatment, row in rows.items():
        pairs = zip(scores["update"], scores[treatment], strict=True)
        mean, half = interval([mine - other for mine, other in pairs])
        words = "" if treatment == "update" else f"{mean:+8.2f} ± {half:.2f}"
        print(f"  {treatment:28}{row}   {words}")


def bounds(seeds: range, width: int, proposals: int) -> None:
    """Print what the bound does."""
    print(f"\nScore by stale_after at {proposals} proposals, {width} in flight, {len(seeds)} paired seeds\n")
    steps = (0, 1, 2, 4, 8)
    print(f"  {'':28}" + "".join(f"{step:>8}" for step in steps))
    for treatment in ("discard", "update"):
        cells = [
            statistics.mean(Campaign(s, treatment, width, proposals, stale_after=step).run() for s in seeds)
            for step in steps
        ]
        print(f"  {treatment:28}" + "".join(f"{cell:8.2f}" for cell in cells))


def main() -> None:
    """Print all tables."""
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    parser.add_argument("--quick", action="store_true", help="fewer seeds; intervals are wider")
    seeds = range(8 if parser.parse_args().quick else 40)
    for width in (8, 32):
        table("Benefits add up, 400 proposals", seeds, width, proposals=400)
        table("Benefits add up, 400 evaluations", seeds, width, evaluations=400)
    table("Neighbours interact, 400 proposals", seeds, 32, proposals=400, interaction=0.7)
    table("Neighbours interact, 400 evaluations", seeds, 32, evaluations=400, interaction=0.7)
    bounds(seeds, 32, 400)


if __name__ == "__main__":
    main()
