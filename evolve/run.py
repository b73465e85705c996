"""What all stages of one run share: the campaign's resources, what is known, what may still be spent."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import trio

from archives.journal import Journal
from archives.reader import Reader
from archives.records import Basis, Candidate, Evaluation, Event, Proposal, Purpose, Record, Setting, Split
from archives.store import Store
from evaluators.brief import Brief
from evaluators.waiting import outcome
from evolve.arms import Arms
from evolve.bench import Bench
from evolve.bounds import Bar
from evolve.budget import Budget
from evolve.cascade import Stage, full, look
from evolve.choice import Choice
from evolve.config import Config
from evolve.evaluating import Errand, evaluated
from evolve.likeness import Likenesses
from evolve.memory import Memory
from evolve.models.ledger import Ledger
from evolve.models.traffic import Traffic
from evolve.operators.base import Operator, Repairer, Source
from evolve.operators.distill import Distill
from evolve.operators.manual import Manual
from evolve.parts import Pace
from evolve.pins import Pins
from evolve.policies.base import Policy
from evolve.population import Population
from evolve.staleness import successor
from evolve.summary import NAME as SUMMARY
from evolve.workers import Workers

if TYPE_CHECKING:
    from evolve.stages.reflect import Reflecting

Rule = Literal["strict", "evalue"]
NOISY_DEPTH = 4
"""Candidates kept in a cell where one evaluation proves little."""


@dataclass(slots=True)
class Run:
    """One run of a campaign, from start or resume to its end.

    Attributes:
        ledger: Where the calls of models are charged and kept.
        next_ids: Next free number of proposals, candidates, evaluations and so on.
        held: Evaluations reserved by each proposal in flight.
        stopping: Why no new proposal is made, once that is so.
        changed: Set whenever a proposal has been admitted or given up, then replaced.
        resumed: Proposals that an earlier run left unfinished.
        fruitless: Proposals in a row that gave nothing to evaluate.
        repairer: Who is asked about stale changes that a merge cannot carry over.
        gating: Whether a challenge is being decided.
        gated: Evaluations that gates have had so far.
        refused: Candidates about which a challenge has been decided.
        pins: What must not change while it judges.
        asked_again: Whether somebody wants a candidate judged again.
        learned_before: Proposals up to this place in the order of admission were judged by another evaluator.
        renewing: Held by who judges again what was judged before.
        deciding: Held while a challenge is decided.
        paused: Whether nothing new is proposed until somebody says so.
        stages: The workers of each stage, in the order in which proposals pass.
        measured: Told of each evaluation when it has ended.
        traffic: Requests to models, where there are any.
        manual: The operator for proposals from outside.
        distill: The operator for changes that were overtaken.
        overtaken: Candidates that helped their parents and came too late, the oldest first.
        submitted: Proposals from outside that nobody has taken up yet.
        evaluator: Version of the evaluator that judges now.
        paces: How long runs of each stage of the evaluator take, where slow ones are doubled.
        merits: Scores at each earlier stage of the evaluator, turned so that higher is better, ascending.
        likenesses: Which candidates are the same program written differently.
        broken: Candidates of models that could not be judged and that nobody has tried to fix, oldest first.
        memory: What has been learned.
        storing: Work on the store of candidates.
        searching: Work of each operator that needs no model.
        reflecting: Who writes lessons, where a model does.
    """

    config: Config
    journal: Journal
    reader: Reader
    store: Store
    population: Population
    budget: Budget
    ledger: Ledger
    bench: Bench
    source: Source
    base: Candidate
    base_time: int
    operators: dict[str, Operator]
    policies: Mapping[str, Policy]
    arms: Arms
    policy_choice: Choice
    rule: Rule
    next_ids: dict[str, int]
    listener: Callable[[str, object], None]
    held: dict[int, int] = field(default_factory=dict)
    resumed: frozenset[int] = frozenset()
    in_flight: int = 0
    admitted: int = 0
    fruitless: int = 0
    stopping: str | None = None
    failure: str | None = None
    interrupted: bool = False
    paused: bool = False
    gating: bool = False
    gated: int = 0
    refused: set[str] = field(default_factory=set)
    stages: tuple[Workers, ...] = ()
    measured: Callable[[Evaluation], None] = lambda evaluation: None
    traffic: Traffic | None = None
    changed: trio.Event = field(default_factory=trio.Event)
    repairer: Repairer | None = None
    pins: Pins = field(default_factory=lambda: Pins({}, {}))
    asked_again: bool = False
    learned_before: int = 0
    renewing: trio.Lock = field(default_factory=trio.Lock)
    deciding: trio.Lock = field(default_factory=trio.Lock)
    manual: Manual = field(default_factory=Manual)
    distill: Distill = field(default_factory=Distill)
    overtaken: list[str] = field(default_factory=list)
    submitted: deque[Proposal] = field(default_factory=deque)
    evaluator: int = 1
    paces: dict[str, Pace] = field(default_factory=dict)
    merits: dict[str, list[float]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    storing: Brief = field(default_factory=Brief)
    searching: defaultdict[str, Brief] = field(default_factory=lambda: defaultdict(Brief))
    reflecting: Reflecting | None = None
    likenesses: Likenesses = field(init=False)

    def __post_init__(self) -> None:
        self.likenesses = Likenesses(self.store, self.base.id)

    def operator(self, name: str) -> Operator | None:
        """The operator of this name, those that nobody chooses included; None if it has ended."""
        unchosen: dict[str, Operator] = {self.manual.name: self.manual, self.distill.name: self.distill}
        return unchosen.get(name) or self.operators.get(name)

    def submit(self, proposal: Proposal) -> None:
        """Take a proposal from outside; it comes before any other."""
        self.manual.recall(proposal)
        self.budget.spend(proposals=1)
        self.submitted.append(proposal)
        self.wake()

    @property
    def seed(self) -> int:
        """Seed of the campaign."""
        return self.config.campaign.seed

    @property
    def first_look(self) -> int:
        """Runs a new candidate may need: stages, repeats, and a second look if it would be champion."""
        confirm = self.rule == "strict" and self.config.promotion.rule == "auto"
        return look(self.config) + confirm * self.price

    @property
    def price(self) -> int:
        """Most runs of the evaluator that one evaluation in full takes."""
        return full(self.config).runs

    def number(self, kind: str) -> int:
        """The next free number of a kind of record."""
        value = self.next_ids.get(kind, 1)
        self.next_ids[kind] = value + 1
        return value

    async def record(self, *records: Record) -> None:
        """Write records in one transaction and wait until they are on disk."""
        await outcome(self.journal.submit(*records))

    async def tell(self, kind: str, text: str) -> None:
        """Record something that a person may want to know of later, and show it now."""
        await self.record(Event(kind, text))
        self.listener(kind, text)

    def stop(self, reason: str, failure: bool = False) -> None:
        """Make no further proposals; what is in flight is finished. The first reason stays."""
        if self.stopping is None:
            self.stopping = reason
            self.failure = reason if failure else None
        self.wake()

    def wake(self) -> None:
        """Let those go on who wait for something in flight to end."""
        self.changed.set()
        self.changed = trio.Event()

    def basis(self) -> Basis:
        """The versions that hold now."""
        now = self.population
        return Basis(now.champion.version, now.grid.version, self.memory.version, self.evaluator)

    def successor(self, proposal: Proposal) -> str | None:
        """What has taken the place of a proposal's parent; None where it is not stale."""
        bound = self.config.search.stale_after
        return successor(self.population, proposal.basis, proposal.policy, proposal.parent, bound)

    def gain(self, candidate: str, parent: str) -> float | None:
        """How much better a candidate is than another, positive is better; None if either was not judged."""
        mine, theirs = self.population.merit(candidate), self.population.merit(parent)
        return None if mine is None or theirs is None else mine - theirs

    async def judge(
        self,
        candidate: Candidate,
        proposal: int,
        purpose: Purpose,
        seed: int,
        split: Split = "search",
        stage: Stage | None = None,
        bar: Bar | None = None,
    ) -> Evaluation:
        """Judge a candidate once and journal the evaluation before anything else happens with it.

        Args:
            candidate: Who is judged.
            proposal: Proposal that asks for it; 0 for the base.
            purpose: Why.
            seed: Seed for the evaluator.
            split: On which cases.
            stage: At which stage; None: in full.
            bar: What the score must reach for the rest of the cases to matter; None judges all.
        """
        stage = stage or full(self.config, split)
        return await evaluated(self, Errand(candidate, proposal, purpose, seed, stage, split, bar))

    async def settle_rule(self, rule: Rule, noise: float) -> None:
        """Take a promotion rule, and lay the archive out for the noise there is."""
        self.rule = rule
        depth = self.config.archive.depth or (NOISY_DEPTH if rule == "evalue" else 1)
        self.population.relay(depth, noise)
        settled = {"rule": rule, "noise": noise, "depth": depth, SUMMARY: None}
        await self.record(*(Setting(name, value) for name, value in settled.items()))

    def hold(self, proposal: int, evaluations: int) -> bool:
        """Reserve evaluations for a proposal; False if they do not fit in the budget."""
        if not self.budget.reserve(evaluations=evaluations):
            return False
        self.held[proposal] = self.held.get(proposal, 0) + evaluations
        return True

    def use(self, proposal: int) -> None:
        """Turn one reservation of a proposal into an expense."""
        if self.held.get(proposal, 0) > 0:
            self.held[proposal] -= 1
            self.budget.release(evaluations=1)
        self.budget.spend(evaluations=1)

    def let_go(self, proposal: int) -> None:
        """Give back whatever a proposal still holds."""
        self.budget.release(evaluations=self.held.pop(proposal, 0))


def failed(proposal: Proposal, reason: str, payload: Mapping[str, Any] | None = None) -> Proposal:
    """The proposal as one that led nowhere; it is not done before it has been admitted."""
    return replace(proposal, outcome="failed", reason=reason, payload=payload or proposal.payload)
