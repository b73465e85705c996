"""What an operator is: the order it gets, the draft it returns, the ways it may decline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from archives.errors import EvolveError
from archives.records import Candidate, CaseScore, Outcome, Proposal
from archives.store import Store

Needs = Literal["parent", "partner", "nothing", "failed"]
"""What an operator starts from: any parent, two of them, what it brings itself, a candidate that failed."""


class Refused(EvolveError):
    """The operator can make nothing from this order; the message says why.

    `payload` is journaled as a draft's would be; `outcome` is what the proposal counts as, `model` who gave
    what could not be used.
    """

    def __init__(
        self,
        reason: str,
        *,
        payload: Mapping[str, Any] | None = None,
        outcome: Outcome = "failed",
        model: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.payload: Mapping[str, Any] = dict(payload or {})
        self.outcome: Outcome = outcome
        self.model = model


class Exhausted(EvolveError):
    """The operator will never propose again."""


class Waiting(EvolveError):
    """The operator has nothing now but may have after something in flight is done."""


def _nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Source:
    """What an operator may look at, and which paths it may change.

    Attributes:
        store: Where the trees are.
        editable: Whether a path may be changed, and shown in full.
        visible: Whether a path that may not be changed may be named and outlined to a model.
    """

    store: Store
    editable: Callable[[str], bool]
    visible: Callable[[str], bool] = _nothing


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier attempt from the same parent: what it changed, and what came of it, in one line each."""

    summary: str
    came: str


@dataclass(frozen=True, slots=True)
class Order:
    """One proposal to make.

    Attributes:
        number: Number of the proposal, key of its random choices.
        seed: Seed of the campaign.
        parent: Candidate to start from.
        base: The user's own commit as a candidate.
        partner: Second parent for a crossover.
        ancestor: Tree of the nearest common ancestor of parent and partner.
        inspirations: Candidates whose ideas may be borrowed.
        parent_score: Objective of the parent with its own sign, if judged.
        partner_score: That of the partner.
        feedback: What the evaluator said about the parent.
        goal: What the user wants, in words.
        cases: Scores of the parent by case.
        lineage: Ancestors of the parent along first parents, the nearest first; only the last few.
        tried: Attempts from the same parent that won nothing, the latest first.
        lessons: What earlier evaluations taught, one text each, the most helpful first.
        model: Model to ask, where it is alive; None leaves the choice to the gateway.
    """

    number: int
    seed: int
    parent: Candidate
    base: Candidate
    partner: Candidate | None = None
    ancestor: str | None = None
    inspirations: tuple[Candidate, ...] = ()
    parent_score: float | None = None
    partner_score: float | None = None
    feedback: str = ""
    goal: str = ""
    cases: tuple[CaseScore, ...] = ()
    lineage: tuple[Candidate, ...] = ()
    tried: tuple[Tried, ...] = ()
    lessons: tuple[str, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A change that an operator proposes.

    Attributes:
        changes: Path to new bytes, or None to delete, against the parent's tree.
        summary: One line of what was changed.
        rationale: Longer text of why.
        payload: The operator's own data (JSON), handed back to `observe`.
        tree: A ready tree instead of `changes`.
        parent: Candidate id, where the operator chose its own parent.
        model: Model that wrote it.
    """

    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    summary: str = ""
    rationale: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    tree: str | None = None
    parent: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A change that was made for a parent which something better has replaced meanwhile.

    Attributes:
        origin: Tree it was made for.
        tree: That tree with the change.
        summary: One line of what was changed.
        conflicts: Files in which it and what is there now contradict each other.
        gain: What the change won where it was made, positive is better; None if it was not judged there.
        result: What came of the merged change in words; empty if it could not be merged.
        older: What it was first made for, where `origin` is what is there now; None where that is `origin`.
    """

    origin: str
    tree: str
    summary: str
    conflicts: tuple[str, ...] = ()
    gain: float | None = None
    result: str = ""
    older: str | None = None


class Repairer(Protocol):
    """Who carries over a stale change where a merge cannot."""

    async def repair(self, order: Order, change: Overtaken, source: Source) -> Draft:
        """Make the change anew on the order's parent; raises Refused where it cannot."""
        ...


class Operator(Protocol):
    """A way to make a candidate from a parent.

    `propose` of an offline operator is a plain method that runs in a worker thread, one call at a time;
    that of an operator which talks to a model is `async def propose_async` and `is_async` is true.
    """

    name: str
    is_async: bool
    needs: Needs

    def handles(self, paths: Sequence[str]) -> bool:
        """Whether it can work on any of these editable files."""
        ...

    def propose(self, order: Order, source: Source) -> Draft:
        """Make one change; raises Refused, Waiting or Exhausted where it cannot."""
        ...

    def observe(self, proposal: Proposal, candidate: Candidate | None, merit: float | None) -> None:
        """Learn what came of a proposal of any operator.

        Called in the order of admission, live and when a campaign is resumed, so that state is a function of
        the journal. `merit` is the objective turned so that higher is better; None where it was not judged.
        """
        ...

    def recall(self, proposal: Proposal) -> None:
        """Know of a proposal of its own that an earlier run made and did not finish."""
        ...


class Stateless:
    """The half of an operator that has nothing to learn."""

    def observe(self, proposal: Proposal, candidate: Candidate | None, merit: float | None) -> None:
        """There is nothing to learn."""

    def recall(self, proposal: Proposal) -> None:
        """There is nothing to know."""
