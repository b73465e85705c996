"""One run of a campaign: take the lock, gather what is known, run the pipeline, say how it ended."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import trio

from archives.errors import EvolveError
from archives.grid import Axis
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Event, Proposal, Setting
from evolve.arms import Arms
from evolve.asking import gateway
from evolve.budget import Budget, extended
from evolve.campaign import Campaign
from evolve.choice import Choice
from evolve.creation import changeable_facts
from evolve.interrupts import Interrupts, interrupts
from evolve.judge import agents_workshop, bench, evaluator_spec, prepared
from evolve.memory import Memory
from evolve.models.ledger import UNSEEN, Ledger
from evolve.operators.base import Source
from evolve.ownership import own
from evolve.pacing import Pace
from evolve.population import Population
from evolve.registry import (
    Tools,
    asks,
    can_ask,
    composer_for,
    operators_for,
    pairs_for,
    policies_for,
    repairer_for,
    usable,
)
from evolve.relearning import leave, relearn
from evolve.run import Run, failed
from evolve.stages.admit import admit
from evolve.stages.baseline import baseline
from evolve.stages.challenge import gated, hear_the_rest
from evolve.stages.propose import one_offline
from evolve.stages.reflect import Reflecting, reflections
from evolve.stages.renew import keep_renewing, renew
from evolve.steering import take_up, watch_inbox
from evolve.summary import NAME as SUMMARY
from evolve.summary import summary_of
from evolve.territory import editable, visible
from evolve.versions import VERSION
from evolve.versions import take_up as take_up_changes

State = Literal["finished", "stopped"]
WALL_TICK = 1.0
PACK_EVERY = 20_000
LEAVE_EVERY = 5_000
GAUGE_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        state: "finished" when a budget or the operators were used up, else "stopped".
        reason: Why, in one line.
        failed: Whether it ended because something is wrong.
    """

    state: State
    reason: str
    failed: bool = False


async def run_campaign(campaign: Campaign, listener: Callable[[str, Any], None]) -> Ending:
    """Own the campaign, run it, and leave its state in the journal.

    Raises:
        CampaignBusy: Another process owns it.
        EvolveError: The base cannot be judged, or the machine failed.
    """
    with own(campaign.layout.lock), interrupts() as heard:
        journal = Journal.open(campaign.layout.database)
        try:
            campaign.store.recover()
            for change in take_up_changes(campaign, journal, campaign.accept_evaluator):
                listener("evaluator", change)
            listener("limits", await _begin(campaign, journal))
            listener("owned", os.getpid())
            try:
                ending = await _run(campaign, journal, listener, heard)
            # Whatever breaks a stage, its reason is what a person will look for in the morning.
            except (Exception, KeyboardInterrupt) as error:
                await _end(journal, _broken(error))
                raise
            await _end(journal, ending)
            return ending
        finally:
            journal.close()


async def _run(
    campaign: Campaign, journal: Journal, listener: Callable[[str, Any], None], heard: Interrupts
) -> Ending:
    try:
        async with _assembled(campaign, journal, listener) as run:
            await _conduct(run, heard, campaign)
            return _ending(run)
    except BaseExceptionGroup as group:
        raise _single(group) from None


async def _begin(campaign: Campaign, journal: Journal) -> dict[str, float]:
    with campaign.reader() as reader:
        added = reader.setting("budget_added", {})
        unseen = list(reader.calls_in_flight())
    limits = extended(campaign.config.budget.limits(), added)
    facts = changeable_facts(campaign.config) | {"budget": limits}
    facts |= {"state": "running", "reason": "", "failed": False, "paused": False, "gauges": {}, SUMMARY: None}
    await _write(journal, Event("started", f"process {os.getpid()}"), **facts)
    lost = [replace(call, state="lost", error=UNSEEN) for call in unseen]
    await trio.to_thread.run_sync(lambda: journal.write(*lost))
    return limits


async def _end(journal: Journal, ending: Ending) -> None:
    facts = {"state": ending.state, "reason": ending.reason, "failed": ending.failed}
    with trio.CancelScope(shield=True):
        await _write(journal, Event("failed" if ending.failed else ending.state, ending.reason), **facts)


def _broken(error: BaseException) -> Ending:
    if isinstance(error, KeyboardInterrupt):
        return Ending("stopped", str(error) or "interrupted at once")
    ours = isinstance(error, EvolveError)
    return Ending("stopped", str(error) if ours else f"{type(error).__name__}: {error}", failed=True)


async def _write(journal: Journal, event: Event, **facts: Any) -> None:
    settings = [Setting(name, value) for name, value in facts.items()]
    await trio.to_thread.run_sync(lambda: journal.write(event, *settings))


def _single(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception that broke a nursery, or the group if there were several kinds."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        one = pending.pop()
        if isinstance(one, BaseExceptionGroup):
            pending.extend(one.exceptions)
        elif not isinstance(one, trio.Cancelled):
            leaves.append(one)
    ours = [one for one in leaves if isinstance(one, EvolveError)]
    return (ours or leaves or [group])[0]


@asynccontextmanager
async def _assembled(
    campaign: Campaign, journal: Journal, listener: Callable[[str, Any], None]
) -> AsyncIterator[Run]:
    """Everything a run needs, rebuilt from the journal."""
    config, store = campaign.config, campaign.store
    with Reader(campaign.layout.database) as reader, Reader(campaign.layout.database) as lookup:
        facts = reader.settings()
        base = reader.candidate(facts["base"])
        if base is None:
            raise EvolveError(f"{campaign.layout.database}: the base is missing; the campaign cannot go on")
        paths = [entry.path for entry in store.files(base.id)]
        may_change = editable(config, paths, campaign.prefix)
        source = Source(store, may_change, visible(config, paths, campaign.prefix))
        population = Population(
            config.evaluator.direction,
            [Axis(**axis) for axis in facts["axes"]],
            facts["depth"],
            facts.get("noise") or 0.0,
            lookup.candidate,
        )
        names, _ = usable(config, [path for path in paths if source.editable(path)])
        policies = policies_for(config)
        async with AsyncExitStack() as stack:
            budget = Budget(facts["budget"], _spent(reader, facts))
            ledger = Ledger(budget, journal, reader.counts().last_call + 1)
            mending = config.search.staleness == "repair" and can_ask(config)
            tools = models = None
            if asks(names, config) or mending or "agent" in names:
                shown = [path for path in paths if source.editable(path)]
                if asks(names, config) or mending:
                    models = await stack.enter_async_context(gateway(campaign, ledger, reader, shown))
                shop = agents_workshop(campaign) if "agent" in names else None
                tools = Tools(composer_for(config, campaign.folder), models, shop, ledger)
            with _kept():
                population.load(reader.stubs(), reader.looks(), reader.champions())
                population.last = reader.last_evaluation()
            operators = operators_for(names, config, campaign.folder, tools)
            listener("configured", config)
            spec = evaluator_spec(campaign)
            places = await stack.enter_async_context(bench(campaign, spec))
            run = Run(
                config=config,
                journal=journal,
                reader=reader,
                store=store,
                population=population,
                budget=budget,
                ledger=ledger,
                bench=places,
                source=source,
                base=base,
                base_time=facts["base_time"],
                operators=operators,
                policies=policies,
                arms=Arms(pairs_for(list(operators), config)),
                policy_choice=Choice(dict.fromkeys(policies, 1.0)),
                rule="evalue" if facts.get("rule") == "evalue" else "strict",
                next_ids=_next_ids(reader),
                listener=listener,
                traffic=None if models is None else models.traffic,
                evaluator=facts.get(VERSION, 1),
            )
            if mending and tools is not None and tools.models is not None:
                run.repairer = repairer_for(tools.models, tools.composer)
            run.memory = Memory(reader.lessons())
            if tools is not None and tools.models is not None and config.workers.reflect != 0:
                run.reflecting = Reflecting(run, tools.models, tools.composer.templates)
            before = facts.get("decided_before", 0)
            run.refused = {one.challenger for one in reader.decisions() if one.id > before}
            run.gated = gated(reader)
            run.learned_before = facts.get("admitted_before", 0)
            relearn(run, campaign.layout.learned)
            await run.record(Setting("arms", run.arms.said()), Setting("policies", list(policies)))
            yield run


@contextmanager
def _kept() -> Iterator[None]:
    """What is made within stays for the whole run: look for no garbage in it, now or later."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def _spent(reader: Reader, facts: dict[str, Any]) -> dict[str, float]:
    counts = reader.counts()
    tokens, usd = reader.spent_on_models()
    return {
        "proposals": counts.proposals,
        "evaluations": counts.counted,
        "wall": facts.get("spent", {}).get("wall", 0.0),
        "tokens": tokens,
        "usd": usd,
    }


def _next_ids(reader: Reader) -> dict[str, int]:
    counts = reader.counts()
    return {
        "proposal": counts.last_proposal + 1,
        "candidate": counts.last_candidate + 1,
        "evaluation": counts.last_evaluation + 1,
        "decision": counts.last_decision + 1,
        "lesson": counts.last_lesson + 1,
    }


async def _conduct(run: Run, heard: Interrupts, campaign: Campaign) -> None:
    layout = campaign.layout
    unfinished = await _unfinished(run)
    run.resumed = frozenset(p.number for p in unfinished)
    champion = run.population.candidates[run.population.champion.candidate]
    run.store.move_champion(champion.commit, run.store.champion())
    await take_up(run, layout.inbox)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch_interrupts, run, heard)
        nursery.start_soon(watch_inbox, run, layout.inbox)
        nursery.start_soon(_watch_gauges, run)
        nursery.start_soon(_watch_wall, run)
        nursery.start_soon(_watch_store, run)
        nursery.start_soon(_watch_learned, run, layout.learned)
        await _set_up(run, campaign)
        width = run.bench.slots.width
        if run.stopping is None:
            await baseline(run)
        if run.budget.left("wall") <= 0 and (reason := run.budget.used_up()):
            run.stop(reason)
        if run.stopping is None:
            await renew(run, width)
        nursery.start_soon(keep_renewing, run, width)
        pace = Pace(run)
        nursery.start_soon(pace.watch)
        async with reflections(run.reflecting, run.config.workers.reflect):
            await pace.pipeline.go(unfinished)
            if run.asked_again and not run.interrupted:
                await renew(run, width)
            await hear_the_rest(run)
        nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(leave, run, layout.learned)
        last = run.next_ids["evaluation"] - 1
        await run.record(Setting("spent", dict(run.budget.spent)), _summary(run, last))


async def _set_up(run: Run, campaign: Campaign) -> None:
    """Make the evaluator ready; given up when somebody stops the run meanwhile."""

    async def give_up_when_stopping(scope: trio.CancelScope) -> None:
        while run.stopping is None:
            await run.changed.wait()
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up_when_stopping, nursery.cancel_scope)
        ready = await trio.to_thread.run_sync(
            prepared, campaign, run.bench.spec, trio.from_thread.check_cancelled
        )
        run.bench.spec, run.bench.overlay, run.pins = ready.spec, ready.overlay, ready.pins
        await run.record(*ready.facts)
        for note in ready.notes:
            await run.tell("evaluator", note)
        nursery.cancel_scope.cancel()


async def _unfinished(run: Run) -> list[Proposal]:
    """Proposals an earlier run left behind, by number; those nobody can make any more are closed."""
    left = sorted([*run.reader.proposals("open"), *run.reader.proposals("made")], key=lambda p: p.number)
    for proposal in left:
        if operator := run.operator(proposal.operator):
            operator.recall(proposal)
        elif proposal.outcome is None:
            await admit(run, failed(proposal, f"{proposal.operator} is no longer among the operators"))
    return [p for p in left if run.operator(p.operator) or p.outcome is not None]


def _ending(run: Run) -> Ending:
    reason = run.stopping or "interrupted"
    if run.failure is not None:
        return Ending("stopped", run.failure, failed=True)
    if not run.interrupted and (unheard := _unheard(run)):
        return Ending("stopped", unheard, failed=True)
    return Ending("stopped" if run.interrupted else "finished", reason)


def _unheard(run: Run) -> str | None:
    """Why a campaign that proposed nothing but by asking, and never got an answer, is no finished one."""
    states = {cost.state for cost in run.reader.costs()}
    if not states or states & {"answered", "repeated"} or run.next_ids["candidate"] > 1:
        return None
    errors = [call.error for call in run.reader.calls() if call.error]
    return f"nobody who was asked gave an answer: {errors[-1]}" if errors else None


async def _watch_interrupts(run: Run, heard: Interrupts) -> None:
    """The first Ctrl-C or SIGTERM drains; a second one ends what is in flight at once."""
    number = await heard.wait(1)
    run.interrupted = True
    run.stop("stopped by Ctrl-C" if number == signal.SIGINT else "stopped by a signal")
    run.listener("draining", "finishing what is in flight; once more to stop at once")
    await heard.wait(2)
    raise KeyboardInterrupt


async def _watch_wall(run: Run) -> None:
    """Count the time of the campaign, by a clock that nobody can set."""
    before, saved = trio.current_time(), 0.0
    while True:
        limit = run.budget.limits.get("wall", float("inf"))
        rest = limit - run.budget.spent.get("wall", 0.0)
        await trio.sleep(max(0.01, min(WALL_TICK, rest)))
        now = trio.current_time()
        if run.in_flight or not run.paused:
            run.budget.spend(wall=now - before)
        before = now
        if rest <= WALL_TICK and (reason := run.budget.used_up()):
            run.stop(reason)
            run.bench.close()
        if now - saved > 10 * WALL_TICK:
            saved = now
            await run.record(Setting("spent", dict(run.budget.spent)))


async def _watch_gauges(run: Run) -> None:
    """Leave in the journal, once a second, how full the stages are, for those who watch."""
    shown: dict[str, Any] = {}
    summed = -1
    while True:
        if run.population.heard != summed:
            summed = run.population.heard
            await run.record(_summary(run, run.population.last))
        gauges = {
            "in_flight": run.in_flight,
            "wall": round(run.budget.spent.get("wall", 0.0), 1),
            "stages": {stage.name: stage.occupancy for stage in run.stages},
        }
        if gauges != shown:
            await run.record(Setting("gauges", gauges))
            shown = gauges
        await trio.sleep(GAUGE_EVERY)


def _summary(run: Run, evaluation: int) -> Setting:
    return Setting(SUMMARY, summary_of(run.population, evaluation).said())


async def _watch_store(run: Run) -> None:
    """Pack objects and refs now and then, so that the store stays as fast as it was."""
    packed = run.next_ids.get("candidate", 1)
    while True:
        await trio.sleep(5)
        if run.next_ids.get("candidate", 1) - packed >= PACK_EVERY:
            packed = run.next_ids["candidate"]
            with run.storing.elsewhere():  # it waits for locks that packing holds
                await trio.to_thread.run_sync(run.store.pack)


async def _watch_learned(run: Run, folder: Path) -> None:
    """Have operators leave what they have learned now and then, for a run that goes on after a kill."""
    left = run.admitted
    while True:
        await trio.sleep(5)
        if run.admitted - left >= LEAVE_EVERY:
            left = run.admitted
            await trio.to_thread.run_sync(leave, run, folder, limiter=one_offline)
