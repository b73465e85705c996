"""Renew: what an earlier judge said is judged again before it is believed (see `evolve.versions`).

The claims are in the journal from the moment the change was accepted, the champion's first, and a claim that
has been judged is seen in its evaluations. So a run that was killed in the middle goes on with the rest.

A champion that the new judge, or the new holdout, does not bear out gives way to the base. Whatever then
looks better than the champion of the moment challenges it, through the same gate as ever. The same list
holds what a person wants judged again (`evolve reevaluate`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import trio

from archives.crashpoints import reach
from archives.records import Candidate, Champion, Decision, Evaluation, Proposal, Purpose, Setting
from evolve.bench import Closed
from evolve.claims import CLAIMS, claims_of
from evolve.promotion import holdout_allows
from evolve.run import Run
from evolve.stages.challenge import challenge, scores_of
from evolve.versions import HOLDOUT_SINCE


async def renew(run: Run, width: int) -> None:
    """Judge again what is claimed, at most `width` at a time, and let a better one challenge."""
    async with run.renewing:
        claims = claims_of(run.reader)
        if not claims and not _unheard(run):
            return
        try:
            await _again(run, claims, width)
            await _champion_holds(run)
            for one in sorted(claims, key=lambda claim: -(run.population.merit(claim["candidate"]) or 0.0)):
                await _challenge(run, run.population.candidates[one["candidate"]])
            if claims:
                await _challenge(run, run.base)
        except Closed:
            return


async def keep_renewing(run: Run, width: int) -> None:
    """Take up what a person asks to be judged again, while the run lasts."""
    while True:
        await run.changed.wait()
        if run.asked_again and run.stopping is None:
            run.asked_again = False
            await renew(run, width)


async def _again(run: Run, claims: list[dict[str, Any]], width: int) -> None:
    """Judge the claims in their order; those that the budget has no room for stay claims."""
    done: list[dict[str, Any]] = []
    slots = trio.Semaphore(width)

    async def one(claim: dict[str, Any]) -> None:
        try:
            if await _judged(run, claim):
                done.append(claim)
        finally:
            slots.release()

    for part in (
        claims[:1],
        claims[1:],
    ):  # everything is compared with the champion, whose claim is the first
        async with trio.open_nursery() as nursery:
            for claim in part:
                await slots.acquire()
                nursery.start_soon(one, claim)
    left = [claim for claim in claims_of(run.reader) if claim not in done]
    reach("renew.judged")
    await run.record(Setting(CLAIMS, left))
    if left and run.stopping is None:
        words = f"the budget leaves no evaluations for {len(left)} candidates that wait to be judged again"
        await run.tell("renewal", f"{words}; `evolve budget add evaluations={len(left)}`")


async def _judged(run: Run, claim: dict[str, Any]) -> bool:
    """Judge one claim, as far as it was not; False where the budget has no room."""
    candidate = run.population.candidates[claim["candidate"]]
    if run.stopping is not None:
        return False
    number, seed = candidate.proposal, claim.get("seed")
    known = list(run.reader.evaluations(candidate.id, "search"))
    if seed is None and any(one.verdict != "judged" for one in known):
        return True
    wanted = range(run.config.evaluator.repeats) if seed is None else (seed,)
    purpose: Purpose = "search" if seed is None else "confirm"
    looks = ("search", "baseline") if seed is None else ("confirm",)
    missing = [each for each in wanted if not any(e.seed == each and e.purpose in looks for e in known)]
    if not missing:
        return True
    if not run.hold(number, len(missing) * run.price):
        return False
    try:
        for each in missing:
            evaluation = await run.judge(candidate, number, purpose, each)
            if evaluation.verdict != "judged":
                break
        if seed is not None:
            await _tell(run, evaluation)
    except Closed:
        return False
    finally:
        run.let_go(number)
    return True


async def _tell(run: Run, evaluation: Evaluation) -> None:
    standing = run.population.standing(evaluation.candidate)
    said = f"{evaluation.score:.10g}" if evaluation.score is not None else evaluation.verdict
    mean = f"; {standing.score:.10g} over {standing.count} looks" if standing else ""
    await run.tell("reevaluated", f"{evaluation.candidate[:10]} scored {said}{mean}")


def _as_proposed(run: Run, candidate: Candidate) -> Proposal:
    proposal = run.reader.proposal(candidate.proposal)
    if proposal is None:
        proposal = Proposal(candidate.proposal, candidate.operator, candidate.id, run.basis())
    return replace(proposal, outcome="candidate", candidate=candidate.id)


async def _challenge(run: Run, candidate: Candidate) -> None:
    if candidate.id == run.population.champion.candidate or run.population.merit(candidate.id) is None:
        return
    proposal = _as_proposed(run, candidate)
    try:
        await challenge(run, proposal)
    finally:
        run.let_go(proposal.number)


def _unheard(run: Run) -> bool:
    """Whether the holdout in force has not spoken about the champion yet, and another one had."""
    champion = run.population.champion.candidate
    if not run.config.holdout.present or champion == run.base.id or not run.reader.setting(HOLDOUT_SINCE):
        return False
    return not any(run.reader.evaluations(champion, "holdout"))


async def _champion_holds(run: Run) -> None:
    """Let the base take the place of a champion that is not borne out."""
    champion = run.population.candidates[run.population.champion.candidate]
    if champion.id == run.base.id:
        return
    if any(claim["candidate"] == champion.id for claim in claims_of(run.reader)):
        return
    why = None
    if run.population.merit(champion.id) is None:
        found = list(run.reader.evaluations(champion.id, "search"))
        why = f"{found[-1].verdict}: {found[-1].reason}" if found else "it was not judged"
    elif _unheard(run):
        why = await _against(run, champion)
    if why is not None:
        await _base_takes_over(run, champion, why)


async def _against(run: Run, champion: Candidate) -> str | None:
    """What the holdout says against the champion; None for nothing."""
    mine = await run.judge(champion, champion.proposal, "gate", 0, "holdout")
    theirs = next(e for e in run.reader.evaluations(run.base.id, "holdout") if e.verdict == "judged")
    if mine.verdict != "judged":
        return f"holdout: {mine.verdict}: {mine.reason}"
    noisy, sign = run.rule == "evalue", int(run.population.sign)
    allowed, words = holdout_allows(scores_of(mine, noisy), scores_of(theirs, noisy), sign, noisy)
    return None if allowed else words


async def _base_takes_over(run: Run, champion: Candidate, why: str) -> None:
    decision = Decision(
        id=run.number("decision"),
        challenger=run.base.id,
        champion=champion.id,
        proposal=0,
        promoted=True,
        rule="renewal",
        reason=f"the champion was not borne out: {why}",
    )
    crowned = Champion(run.population.champion.version + 1, run.base.id, decision.id)
    await run.record(decision, crowned)
    reach("renew.decided")
    run.population.crown(crowned)
    run.store.move_champion(run.base.commit, champion.commit)
    await run.tell("champion", f"the base again, for {champion.id[:10]} was not borne out: {why}")
