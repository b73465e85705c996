"""The loop of a campaign: select → propose → evaluate → [stale? repair] → challenge → admit, and again.

Each stage works on what the one before hands over, as many proposals at a time as its width says. What
limits the whole is the number of proposals in flight: nothing is selected while there is no room for one
more, and a proposal takes its room from its selection to its admission. So no queue can grow, wherever the
slow stage is. With one worker for proposals and one for evaluations there is room for one: each choice then
sees the results of all before it, and the same seed gives the same campaign. Where the widths are not
fixed, `evolve.pacing` sets them anew from what is measured.

The journal is the truth. A proposal that a killed run left unfinished goes through the same stages again,
and each stage passes over what is recorded already. So a proposal that comes late, after the budget is used
up or while the run is being stopped, is not lost: it is finished, or a later run takes it up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import trio

from archives.crashpoints import reach
from archives.errors import ModelError
from archives.records import Proposal
from evolve.bench import Closed
from evolve.models.errors import BudgetSpent, NotRecorded
from evolve.run import Run, failed
from evolve.stages.admit import admit
from evolve.stages.challenge import challenge, challenges, still_contended
from evolve.stages.evaluate import evaluate
from evolve.stages.propose import propose
from evolve.stages.repair import due, noted, repair
from evolve.stages.select import select
from evolve.workers import Workers

FRUITLESS_LIMIT = 300
REMEMBERED = 32
"""Proposals that the share of overtaken ones is taken of."""
LEFT_BEHIND = ("accepted", "dropped", "conflicting")
"""Treatments of stale proposals that did not bring them up to date."""


def in_flight(proposers: int, evaluators: int) -> int:
    """Proposals that may be in flight: each worker's own, and some that wait.

    Those that wait between the stages keep the model busy while evaluations that came in a burst are done.
    """
    return proposers + evaluators - 1 + (min(proposers, evaluators) - 1) // 2


class Pipeline:
    """The stages of one run, and the room there is in them.

    Args:
        run: The campaign.
        proposers: Proposals being made at a time.
        evaluators: Evaluations at a time.

    Attributes:
        room: Proposals that may be in flight.
        overtaken: Of the last proposals that were made, whether they were left behind by what overtook them.
    """

    def __init__(self, run: Run, proposers: int, evaluators: int) -> None:
        self.run = run
        self.propose = Workers("propose", proposers)
        self.evaluate = Workers("evaluate", evaluators)
        self.repair = Workers("repair", evaluators)
        self.challenge = Workers("challenge", 1)
        self.admit = Workers("admit", 1)
        self.overtaken: deque[bool] = deque(maxlen=REMEMBERED)
        self.room = in_flight(proposers, evaluators)
        run.bench.slots.width = evaluators
        run.bench.slots.length = self._length
        run.stages = (self.propose, self.evaluate, self.repair, self.challenge, self.admit)

    def widen(self, proposers: int, evaluators: int) -> None:
        """Set the widths anew, up or down; what is in flight goes on."""
        self.propose.width = proposers
        self.evaluate.width = self.repair.width = self.run.bench.slots.width = evaluators
        self.room = in_flight(proposers, evaluators)
        self.run.wake()

    def _length(self, purpose: str) -> float:
        """Seconds that the stage takes which asks for a slot: the longest-running one gets the next."""
        return (self.evaluate if purpose == "search" else self.challenge).seconds

    async def go(self, unfinished: Sequence[Proposal]) -> None:
        """Run until a budget is used up, the operators are, or somebody stops it; then drain.

        Args:
            unfinished: Proposals an earlier run left behind, by number.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.propose.run, self._propose)
            nursery.start_soon(self.evaluate.run, self._evaluate)
            nursery.start_soon(self.repair.run, self._repair)
            nursery.start_soon(self.challenge.run, self._challenge)
            nursery.start_soon(self.admit.run, self._admit)
            await self._take_up(unfinished)
            await self._select_all()
            while self.run.in_flight:
                await self.run.changed.wait()
            nursery.cancel_scope.cancel()

    async def _take_up(self, unfinished: Sequence[Proposal]) -> None:
        run = self.run
        for proposal in unfinished:
            while run.in_flight >= self.room:
                await run.changed.wait()
            if run.stopping is None and run.hold(proposal.number, run.first_look):
                self._begin(proposal, self.propose if proposal.outcome is None else self.evaluate)

    async def _select_all(self) -> None:
        run = self.run
        while run.stopping is None:
            if run.paused or run.in_flight >= self.room:
                await run.changed.wait()
            elif run.submitted and run.hold(run.submitted[0].number, run.first_look):
                self._begin(run.submitted.popleft(), self.propose)
            elif reason := _ending(run):
                run.stop(reason)
            elif proposal := _afford(run):
                operator = run.operator(proposal.operator)
                if operator is not None and operator.needs != "nothing":
                    await run.record(proposal)
                    reach("select.recorded")
                self._begin(proposal, self.propose)
            elif run.in_flight or _waits_for_people(run):
                await run.changed.wait()
            else:
                run.stop(_why_nothing_fits(run))

    async def _propose(self, selected: Proposal) -> None:
        run = self.run
        try:
            proposal = await propose(run, selected)
        except BudgetSpent as reason:
            run.stop(str(reason))
            proposal = None
        except ModelError as error:
            proposal = await _lose_operator(run, selected, error)
        if proposal is None:
            run.budget.spend(proposals=-1)
            self._drop(selected)
            return
        self.overtaken.append(proposal.stale in LEFT_BEHIND)
        self.evaluate.put(proposal)

    async def _evaluate(self, made: Proposal) -> None:
        with self._or_left(made):
            proposal = noted(self.run, await evaluate(self.run, made))
            if due(self.run, proposal):
                self.repair.put(proposal)
            else:
                self._judged(proposal)

    async def _repair(self, proposal: Proposal) -> None:
        with self._or_left(proposal):
            self._judged(await repair(self.run, proposal))

    def _judged(self, proposal: Proposal) -> None:
        (self.challenge if challenges(self.run, proposal) else self.admit).put(proposal)

    async def _challenge(self, proposal: Proposal) -> None:
        with self._or_left(proposal):
            await challenge(self.run, proposal)
            while still_contended(self.run, proposal):
                await challenge(self.run, proposal)
            self.admit.put(proposal)

    async def _admit(self, proposal: Proposal) -> None:
        closed = await admit(self.run, proposal)
        if self.run.reflecting is not None:
            self.run.reflecting.take(closed)
        self._drop(proposal)

    @contextmanager
    def _or_left(self, proposal: Proposal) -> Iterator[None]:
        """Leave a proposal as the journal has it, for a later run, where no evaluation may begin any more."""
        try:
            yield
        except Closed:
            self._drop(proposal)

    def _begin(self, proposal: Proposal, stage: Workers) -> None:
        self.run.in_flight += 1
        stage.put(proposal)

    def _drop(self, proposal: Proposal) -> None:
        self.run.let_go(proposal.number)
        self.run.in_flight -= 1
        self.run.wake()


def _ending(run: Run) -> str | None:
    if not (run.operators or run.submitted or _waits_for_people(run)):
        return "the operators have nothing more to propose"
    if run.fruitless >= FRUITLESS_LIMIT:
        return f"the last {run.fruitless} proposals led to nothing new to evaluate"
    return run.budget.used_up()


def _waits_for_people(run: Run) -> bool:
    """Whether proposals from outside are waited for, and the budget has room to judge one."""
    return run.config.operators.manual and run.budget.left("evaluations") >= run.first_look


def _afford(run: Run) -> Proposal | None:
    """A proposal whose first look is reserved; None where the budget or the operators allow none now."""
    if run.budget.left("proposals") < 1 or not run.budget.reserve(evaluations=run.first_look):
        return None
    proposal = select(run)
    if proposal is None:
        run.budget.release(evaluations=run.first_look)
        return None
    run.held[proposal.number] = run.first_look
    run.budget.spend(proposals=1)
    return proposal


def _why_nothing_fits(run: Run) -> str:
    left = run.budget.left("evaluations")
    if left >= run.first_look:
        return "no operator can work on what there is"
    rest = f" ({left:g} left, a new candidate needs {run.first_look})" if left >= 1 else ""
    return f"the budget of {run.budget.limits['evaluations']:g} evaluations is used up{rest}"


async def _lose_operator(run: Run, selected: Proposal, error: ModelError) -> Proposal:
    """No model answers: go on with the operators that need none, or end as a failure."""
    run.operators.pop(selected.operator, None)
    if not run.operators or isinstance(error, NotRecorded):
        run.stop(str(error), failure=True)
    else:
        await run.tell("models", f"{selected.operator} is given up: {error}")
    lost = failed(selected, str(error))
    await run.record(lost)
    return lost
