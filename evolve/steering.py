"""Requests taken up, by a run that goes on or for a campaign that rests; and the wait for the answer."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archives.errors import CampaignBusy
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Basis, Record, Setting
from evolve.budget import extended
from evolve.claims import CLAIMS, claims_of, next_seed
from evolve.inbox import Answer, NoAnswer, Request, answer_to, pending, post
from evolve.ownership import own
from evolve.submission import opened
from evolve.submission import unsound as not_acceptable
from evolve.teaching import taught

if TYPE_CHECKING:
    from evolve.campaign import Campaign
    from evolve.run import Run

LOOK_EVERY = 0.2
PATIENCE = 15.0
NAMES = ("proposals", "evaluations", "wall", "tokens", "usd")
WHOLE = ("proposals", "evaluations", "tokens")

Decided = tuple[Answer, Sequence[Record]]


async def watch_inbox(run: Run, inbox: Path) -> None:
    """Take up what is asked, as long as the run lasts."""
    import trio

    while True:
        await take_up(run, inbox)
        await trio.sleep(LOOK_EVERY)


async def take_up(run: Run, inbox: Path) -> None:
    """Do what the requests in the inbox ask for, in their order, and answer each.

    Raises:
        KeyboardInterrupt: One asks to stop at once.
    """
    for letter in pending(inbox):
        request = letter.request
        if request is None:
            await run.tell("inbox", f"{letter.path.name} is removed: {letter.fault}")
        elif answer_to(run.reader, request) is None:
            answer, records = _of_living(run, request)
            await run.record(answer.event(request), *records)
            letter.discard()
            run.listener("request", f"{request.action}: {answer.text}")
            if answer.done:
                _act(run, request, answer)
        letter.discard()


def _of_living(run: Run, request: Request) -> Decided:
    """What the orchestrator does about a request, before it does it."""
    if request.action == "budget":
        answer, settings = _of_budget(run.reader, request.arguments)
        if answer.done and run.stopping:
            answer = Answer(True, f"{answer.text}; the run is ending, `evolve resume` goes on", answer.data)
        return answer, settings
    if request.action == "propose":
        return _of_proposal_to_living(run, request.arguments)
    if request.action == "reevaluate":
        when = "the next run does it" if run.stopping else "as soon as a slot is free"
        return _of_doubt(run.reader, request.arguments, when)
    if request.action == "lessons":
        return _of_lessons(run.reader, request.arguments)
    if request.addressee not in (os.getpid(), 0):
        return Answer(False, "it was meant for an orchestrator that is gone; ask again"), []
    if request.action == "resume":
        if not run.paused:
            return Answer(False, "it is not paused"), []
        return Answer(True, "goes on"), [Setting("paused", False)]
    if request.action == "pause":
        if run.stopping:
            return Answer(False, f"it is ending: {run.stopping}"), []
        return Answer(True, f"proposes nothing new; {_rest(run)}"), [Setting("paused", True)]
    if request.arguments.get("now"):
        return Answer(True, f"gives up {run.in_flight} in flight; `evolve resume` does them again"), []
    return Answer(True, f"proposes nothing new; {_rest(run)}, then it ends"), []


def _of_proposal_to_living(run: Run, given: Mapping[str, Any]) -> Decided:
    if fault := not_acceptable(run.reader, given, run.budget.left("proposals")):
        return Answer(False, fault), []
    number = run.number("proposal")
    when = f"the next run judges it: {run.stopping}" if run.stopping else "it is judged next"
    answer = Answer(True, f"proposal {number}; {when}", {"proposal": number})
    return answer, [opened(number, run.basis(), given)]


def _of_lessons(reader: Reader, given: Mapping[str, Any]) -> Decided:
    fault, words, lessons = taught(reader, given)
    return (Answer(False, fault), []) if fault else (Answer(True, words), lessons)


def _rest(run: Run) -> str:
    return f"{run.in_flight} in flight will be finished" if run.in_flight else "nothing is in flight"


def _act(run: Run, request: Request, answer: Answer) -> None:
    if request.action == "budget":
        run.budget.limits = run.reader.setting("budget")
        run.listener("limits", dict(run.budget.limits))
    elif request.action == "lessons":
        for lesson in taught(run.reader, request.arguments)[2]:
            run.memory.keep(lesson)
    elif request.action == "propose":
        proposal = run.reader.proposal(answer.data["proposal"])
        assert proposal is not None  # it was journaled with the answer
        run.submit(proposal)
    elif request.action == "reevaluate":
        run.asked_again = True
    elif request.action == "stop":
        run.interrupted = True
        run.stop("stopped by `evolve stop`")
        if request.arguments.get("now"):
            raise KeyboardInterrupt("stopped at once by `evolve stop --now`")
    else:
        run.paused = request.action == "pause"
    run.wake()


def settle(campaign: Campaign) -> None:
    """Take up what is asked of a campaign that nobody runs, as its owner for a moment.

    Raises:
        CampaignBusy: Somebody runs it after all.
    """
    with (
        own(campaign.layout.lock),
        Journal.open(campaign.layout.database) as journal,
        campaign.reader() as reader,
    ):
        for letter in pending(campaign.layout.inbox):
            request = letter.request
            if request is not None and answer_to(reader, request) is None:
                answer, records = _of_resting(reader, request)
                journal.write(answer.event(request), *records)
            letter.discard()


def _of_resting(reader: Reader, request: Request) -> Decided:
    state = reader.setting("state")
    if request.action == "budget":
        answer, settings = _of_budget(reader, request.arguments)
        if answer.done:
            answer = Answer(True, f"{answer.text}; `evolve resume` goes on", answer.data)
        return answer, settings
    if request.action == "propose":
        return _of_proposal_to_resting(reader, request.arguments)
    if request.action == "reevaluate":
        return _of_doubt(reader, request.arguments, "no orchestrator lives, `evolve resume` does it")
    if request.action == "lessons":
        return _of_lessons(reader, request.arguments)
    if request.action == "resume":
        return Answer(False, "no orchestrator lives"), []
    if request.action == "pause":
        if state == "finished":
            return Answer(False, "it has finished, there is nothing to pause"), []
        settings = _state("paused", "paused while no orchestrator lived")
        return Answer(True, "no orchestrator lives, and none starts by itself"), settings
    settings = _state("stopped", "stopped while it was paused") if state == "paused" else []
    return Answer(True, "nothing to stop, no orchestrator lives"), settings


def _of_proposal_to_resting(reader: Reader, given: Mapping[str, Any]) -> Decided:
    counts = reader.counts()
    limit = reader.setting("budget", {}).get("proposals", math.inf)
    if fault := not_acceptable(reader, given, limit - counts.proposals):
        return Answer(False, fault), []
    number = counts.last_proposal + 1
    text = f"proposal {number}; no orchestrator lives, `evolve resume` judges it"
    proposal = opened(number, Basis(max(0, counts.last_champion), 0), given)
    return Answer(True, text, {"proposal": number}), [proposal]


def _of_doubt(reader: Reader, given: Mapping[str, Any], when: str) -> Decided:
    """Have a candidate judged again."""
    candidate = str(given.get("candidate"))
    if reader.candidate(candidate) is None:
        return Answer(False, f"there is no candidate {candidate[:40]}"), []
    claims = claims_of(reader)
    if any(claim["candidate"] == candidate for claim in claims):
        return Answer(True, f"{candidate[:10]} waits to be judged again already"), []
    claim = {"candidate": candidate, "seed": next_seed(reader, candidate)}
    return Answer(True, f"{candidate[:10]} is judged again; {when}"), [Setting(CLAIMS, [*claims, claim])]


def _state(state: str, reason: str) -> list[Setting]:
    return [Setting("state", state), Setting("reason", reason)]


def _of_budget(reader: Reader, more: Mapping[str, Any]) -> Decided:
    """Add to limits there are; all of it or nothing."""
    limits = reader.setting("budget", {})
    if fault := unsound(more) or _unlimited(limits, more):
        return Answer(False, fault), []
    added = dict(reader.setting("budget_added", {}))
    for name, amount in more.items():
        added[name] = added.get(name, 0) + amount
    now = extended(limits, more)
    words = ", ".join(f"{name} {now[name]:g} ({amount:g} more)" for name, amount in more.items())
    return Answer(True, words, {"limits": now}), [Setting("budget_added", added), Setting("budget", now)]


def unsound(more: Mapping[str, Any]) -> str | None:
    """What is wrong with amounts that are to be added, if anything."""
    for name, amount in more.items():
        if name not in NAMES:
            return f"{name} is no limit; there are {', '.join(NAMES)}"
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        if not number or not math.isfinite(amount) or amount <= 0:
            return f"{name}={amount}: only a number above 0 can be added"
        if name in WHOLE and amount != int(amount):
            return f"{name}={amount}: only a whole number can be added"
    return None if more else "nothing is to be added"


def _unlimited(limits: Mapping[str, float], more: Mapping[str, Any]) -> str | None:
    free = [name for name in more if name not in limits]
    return f"{free[0]} has no limit to add to; limited: {', '.join(limits)}" if free else None


def ask(campaign: Campaign, action: str, patience: float = PATIENCE, **arguments: Any) -> Answer:
    """Ask whoever owns the campaign for something, and wait until it is taken up.

    Args:
        campaign: The campaign.
        action: One of `inbox.ACTIONS`.
        patience: Seconds to wait for a living orchestrator.
        arguments: What the action needs to know.

    Raises:
        NoAnswer: An orchestrator lives and does not take it up; nothing was changed.
    """
    with campaign.reader() as reader:
        before = reader.counts().last_event
        request = Request(action, arguments, campaign.owner())
        letter = post(campaign.layout.inbox, request)
        deadline = time.monotonic() + patience
        while True:
            if answer := answer_to(reader, request, before):
                return answer
            if campaign.owner() is None:
                _settle_if_free(campaign)
            elif time.monotonic() < deadline:
                time.sleep(0.05)
            elif letter.discard():
                raise NoAnswer(_silence(campaign, patience))
            else:  # taken up this very moment
                deadline += patience


def _settle_if_free(campaign: Campaign) -> None:
    try:
        settle(campaign)
    except CampaignBusy:
        return


def _silence(campaign: Campaign, patience: float) -> str:
    pid = campaign.owner()
    return (
        f"the orchestrator (process {pid}) does not answer within {patience:g} s, nothing was changed; "
        f"it is getting ready or frozen: try again, or end it with `kill -9 {pid}` and `evolve resume`"
    )
