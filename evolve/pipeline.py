"""The loop of a campaign: select → propose → evaluate → [stale? repair] → challenge → admit, and again.

Each stage runs as tasks of one nursery, joined by channels. What limits the whole is the number of
proposals in flight: a proposal takes a token when it is selected and gives it back when it has been
admitted, so no queue can grow, wherever the slow stage is, and the channels themselves never block. With
one worker for proposals and one for evaluations there is one token: each choice then sees the results of
all before it, and the same seed gives the same campaign.

The journal is the truth. A proposal that a killed run left unfinished goes through the same stages again,
and each stage passes over what is recorded already.
"""

from __future__ import annotations

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
from evolve.stages.challenge import challenge, challenges
from evolve.stages.evaluate import evaluate
from evolve.stages.propose import propose
from evolve.stages.repair import due, noted, repair
from evolve.stages.select import select

FRUITLESS_LIMIT = 300

Send = trio.MemorySendChannel[Proposal]
Receive = trio.MemoryReceiveChannel[Proposal]


def in_flight(proposers: int, evaluators: int) -> int:
    """Proposals that may be in flight: each worker's own, and some that wait.

    Those that wait between the stages keep the model busy while evaluations that came in a burst are done.
    """
    return proposers + evaluators - 1 + (min(proposers, evaluators) - 1) // 2


async def pipeline(run: Run, proposers: int, evaluators: int, unfinished: Sequence[Proposal]) -> None:
    """Run until a budget is used up, the operators are, or somebody stops it; then drain.

    Args:
        run: The campaign.
        proposers: Proposals being made at a time.
        evaluators: Evaluations at a time.
        unfinished: Proposals an earlier run left behind, by number.
    """
    width = in_flight(proposers, evaluators)
    tokens = trio.Semaphore(width)
    selected, to_propose = trio.open_memory_channel[Proposal](width)
    made, to_evaluate = trio.open_memory_channel[Proposal](width)
    aged, to_repair = trio.open_memory_channel[Proposal](width)
    risen, to_challenge = trio.open_memory_channel[Proposal](width)
    closed, to_admit = trio.open_memory_channel[Proposal](width)
    stages = (to_propose, to_evaluate, to_repair, to_challenge, to_admit)
    run.queues = dict(zip(("propose", "evaluate", "repair", "challenge", "admit"), stages, strict=True))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_select_all, run, tokens, unfinished, selected, made.clone())
        for _ in range(proposers):
            nursery.start_soon(_propose_all, run, tokens, to_propose.clone(), made.clone())
        for _ in range(evaluators):
            sends = (aged.clone(), risen.clone(), closed.clone())
            nursery.start_soon(_evaluate_all, run, tokens, to_evaluate.clone(), *sends)
            nursery.start_soon(_repair_all, run, tokens, to_repair.clone(), risen.clone(), closed.clone())
        nursery.start_soon(_challenge_all, run, tokens, to_challenge, closed.clone())
        nursery.start_soon(_admit_all, run, tokens, to_admit)
        for end in (made, aged, risen, closed, to_propose, to_evaluate, to_repair):
            end.close()


async def _select_all(
    run: Run, tokens: trio.Semaphore, unfinished: Sequence[Proposal], selected: Send, made: Send
) -> None:
    async with selected, made:
        for proposal in unfinished:
            await tokens.acquire()
            if run.stopping is None and run.hold(proposal.number, run.first_look):
                run.in_flight += 1
                await (selected if proposal.outcome is None else made).send(proposal)
            else:
                tokens.release()
        while True:
            await tokens.acquire()
            following = await _next(run)
            if following is None:
                return
            run.in_flight += 1
            await selected.send(following)


async def _next(run: Run) -> Proposal | None:
    """The next proposal, with its place in the budget; None when there will be none."""
    while run.stopping is None:
        if run.paused:
            await run.changed.wait()
        elif run.submitted and run.hold(run.submitted[0].number, run.first_look):
            return run.submitted.popleft()
        elif reason := _ending(run):
            run.stop(reason)
        elif proposal := _afford(run):
            if run.operators[proposal.operator].needs != "nothing":
                await run.record(proposal)
                reach("select.recorded")
            return proposal
        elif run.in_flight or _waits_for_people(run):
            await run.changed.wait()
        else:
            run.stop(_why_nothing_fits(run))
    return None


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


async def _propose_all(run: Run, tokens: trio.Semaphore, proposals: Receive, made: Send) -> None:
    async with proposals, made:
        async for selected in proposals:
            try:
                proposal = await propose(run, selected)
            except BudgetSpent as reason:
                run.stop(str(reason))
                proposal = None
            except ModelError as error:
                proposal = await _lose_operator(run, selected, error)
            if proposal is None:
                run.budget.spend(proposals=-1)
                _drop(run, tokens, selected)
            else:
                await made.send(proposal)


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


async def _evaluate_all(
    run: Run, tokens: trio.Semaphore, proposals: Receive, aged: Send, risen: Send, closed: Send
) -> None:
    async with proposals, aged, risen, closed:
        async for made in proposals:
            with _or_left(run, tokens, made):
                proposal = noted(run, await evaluate(run, made))
                if due(run, proposal):
                    await aged.send(proposal)
                else:
                    await (risen if challenges(run, proposal) else closed).send(proposal)


async def _repair_all(
    run: Run, tokens: trio.Semaphore, proposals: Receive, risen: Send, closed: Send
) -> None:
    async with proposals, risen, closed:
        async for proposal in proposals:
            with _or_left(run, tokens, proposal):
                repaired = await repair(run, proposal)
                await (risen if challenges(run, repaired) else closed).send(repaired)


async def _challenge_all(run: Run, tokens: trio.Semaphore, proposals: Receive, closed: Send) -> None:
    async with proposals, closed:
        async for proposal in proposals:
            with _or_left(run, tokens, proposal):
                await challenge(run, proposal)
                await closed.send(proposal)


async def _admit_all(run: Run, tokens: trio.Semaphore, proposals: Receive) -> None:
    async with proposals:
        async for proposal in proposals:
            await admit(run, proposal)
            _drop(run, tokens, proposal)


@contextmanager
def _or_left(run: Run, tokens: trio.Semaphore, proposal: Proposal) -> Iterator[None]:
    """Leave a proposal as the journal has it, for a later run, where no evaluation may begin any more."""
    try:
        yield
    except Closed:
        _drop(run, tokens, proposal)


def _drop(run: Run, tokens: trio.Semaphore, proposal: Proposal) -> None:
    run.let_go(proposal.number)
    run.in_flight -= 1
    tokens.release()
    run.wake()
