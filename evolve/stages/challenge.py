"""Challenge: a candidate that looks better than the champion has to show it.

Challenges are decided one after the other, because each one may change whom the next has to beat. The
decision and the new champion are one transaction of the journal; the champion's ref in the store follows
it, and is put right when a campaign is resumed. A challenge that a kill cut short is held again, with the
evaluations it had.

Where the evaluator is noisy, half of all candidates look better than the champion by luck, and a gate for
each of them would leave nothing for the search. So there is one gate at a time, for the candidate with the
best prospect (its mean, shrunk towards the others' by how little it was judged), and only while gates have
had no more than half of all evaluations.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

from archives.crashpoints import reach
from archives.errors import StoreError
from archives.reader import Reader
from archives.records import Champion, Decision, Evaluation, Event, Proposal, Purpose, Setting, Split
from evolve.bench import Closed
from evolve.promotion import (
    Gate,
    Guard,
    Levels,
    Pair,
    Ruling,
    Scores,
    guarded,
    guards,
    holdout_allows,
    looks_noisy,
    strict,
)
from evolve.run import Run

SEEDS_PER_GATE = 1_000_000
LAST_GATES = 3
"""Gates that are held at most when the search is over; the first whatever gates have had by then."""
HEARD = "heard"
"""Setting: number of the last proposal when the gates at the end of a search were held."""
GATE_SHARE = 0.5
"""Share of all evaluations that gates may have had when one opens; the rest is left to the search."""


def challenges(run: Run, proposal: Proposal) -> bool:
    """Whether a proposal that has just been judged gives rise to a challenge."""
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return False
    if run.rule == "strict":
        return looks_better(run, proposal.candidate)
    return _room(run) and not run.gating and contender(run) is not None


def _room(run: Run) -> bool:
    """Whether gates have had no more than their share of all evaluations."""
    return run.gated <= GATE_SHARE * run.budget.spent.get("evaluations", 0)


def still_contended(run: Run, proposal: Proposal) -> bool:
    """Whether another gate shall follow one that has just ended.

    While a gate is held nobody else can open one, so a candidate that was judged meanwhile, the last ones of
    a campaign above all, would never be heard.
    """
    if run.rule != "evalue" or run.interrupted or run.budget.left("evaluations") < 2:
        return False
    return challenges(run, proposal)


def gated(reader: Reader) -> int:
    """Evaluations that gates have had; one that was broken off does not stand in its own way."""
    number = sum(decision.rule == "evalue" for decision in reader.decisions()) + 1
    gates = reader.evaluations(purpose="gate", every=True)
    return sum(one.counted and one.seed < SEEDS_PER_GATE * number for one in gates)


def looks_better(run: Run, candidate: str) -> bool:
    """Whether the mean score of a candidate is above the champion's."""
    gain = run.gain(candidate, run.population.champion.candidate)
    return gain is not None and gain > 0


def contender(run: Run) -> str | None:
    """Under noise, the elite not refused yet with the best prospect of being better than the champion."""
    population = run.population
    bar = population.estimate(population.champion.candidate)
    for elite in population.elites():
        if elite.candidate != population.champion.candidate and elite.candidate not in run.refused:
            return elite.candidate if population.estimate(elite.candidate) > bar else None
    return None


async def challenge(run: Run, proposal: Proposal) -> None:
    """Decide whether the proposal's candidate becomes champion, and keep the evidence."""
    async with run.deciding:
        if not challenges(run, proposal):
            return
        challenger = proposal.candidate if run.rule == "strict" else contender(run)
        assert challenger is not None  # or there were no challenge
        await _held(run, proposal, challenger)


async def hear_the_rest(run: Run) -> None:
    """Hold the gates that are left when the search is over, and nothing has to be kept for it any more.

    Once for each end of a search: a campaign that is run again without having proposed anything does not go
    on with them.
    """
    last = run.next_ids["proposal"] - 1
    if run.rule != "evalue" or run.interrupted or run.reader.setting(HEARD) == last:
        return
    with suppress(Closed):
        for turn in range(LAST_GATES):
            if turn and not _room(run):
                break
            challenger = contender(run)
            if challenger is None or run.budget.left("evaluations") < 2:
                break
            made = run.reader.proposal(run.population.candidates[challenger].proposal)
            proposal = made or Proposal(0, "base", challenger, run.basis())
            try:
                async with run.deciding:
                    await _held(run, proposal, challenger)
            finally:
                run.let_go(proposal.number)
        await run.record(Setting(HEARD, last))


async def _held(run: Run, proposal: Proposal, challenger: str) -> None:
    run.gating = True
    try:
        bout = Bout(run, proposal, challenger)
        ruling = await bout.second_look()
        if ruling is None:
            ruling = await bout.compare() if run.rule == "strict" else await bout.gate()
        if ruling.promoted and run.config.holdout.present:
            ruling = await bout.holdout(ruling)
        await _decide(run, challenger, ruling)
    finally:
        run.gating = False


class Bout:
    """One challenger against the champion of the moment."""

    def __init__(self, run: Run, proposal: Proposal, challenger: str) -> None:
        self.run = run
        self.proposal = proposal
        self.challenger = challenger
        self.champion = run.population.champion.candidate

    async def second_look(self) -> Ruling | None:
        """Under the automatic rule, see whether a deterministic evaluator says the same again.

        Returns:
            A refusal, or None where the challenge goes on (perhaps under another rule).
        """
        run = self.run
        if run.rule != "strict" or run.config.promotion.rule != "auto":
            return None
        first = self._last(self.challenger)
        again = await self._judge(self.challenger, "confirm", run.config.evaluator.repeats)
        if again is None:
            return Ruling(False, "strict", "the budget leaves no evaluation for a second look")
        if again.verdict != "judged" or first.score is None or again.score is None:
            return Ruling(False, "strict", f"at the second look: {again.verdict}: {again.reason}")
        if looks_noisy([first.score, again.score]):
            noise = abs(first.score - again.score) / math.sqrt(2)
            await run.settle_rule("evalue", noise)
            await run.tell(
                "noise",
                f"{first.score:.6g} became {again.score:.6g} at a second look; rule evalue from now on",
            )
        if looks_better(run, self.challenger):
            return None
        return Ruling(False, run.rule, "no longer ahead at a second look")

    async def compare(self) -> Ruling:
        """The strict rule."""
        run = self.run
        mine, theirs = run.population.standing(self.challenger), run.population.standing(self.champion)
        assert mine is not None and theirs is not None  # both have been judged, or there were no challenge
        return strict(
            mine.score,
            theirs.score,
            int(run.population.sign),
            run.config.promotion.minimum_gain,
            self._guards(),
        )

    async def gate(self) -> Ruling:
        """The e-value rule: fresh paired runs under seeds of their own until it is decided.

        Raises:
            Closed: Somebody stopped the run before it was.
        """
        run, table = self.run, self.run.config.promotion
        decided = [d for d in run.reader.decisions() if d.rule == "evalue"]
        number = len(decided) + 1
        gate = Gate(
            Levels(table.alpha).level(number, sum(d.promoted for d in decided)),
            table.pairs,
            None if table.range is None else (table.range[0], table.range[1]),
            table.minimum_gain,
            int(run.population.sign),
        )
        for turn in range(table.pairs):
            if (
                run.interrupted
            ):  # hours of pairs are not what a person waits for; a later run goes on with them
                raise Closed
            seed = SEEDS_PER_GATE * number + turn
            mine = await self._judge(self.challenger, "gate", seed)
            if mine is not None and mine.verdict in ("failed", "invalid", "tampered"):
                return Ruling(
                    False, "evalue", f"{mine.verdict} under seed {seed}: {mine.reason}", gate.evidence()
                )
            theirs = None if mine is None else await self._judge(self.champion, "gate", seed)
            if mine is None or theirs is None:
                return Ruling(
                    False, "evalue", "the budget leaves no evaluations for the gate", gate.evidence()
                )
            if mine.score is None or theirs.score is None:
                continue
            sign = run.population.sign
            if gate.add(Pair(str(seed), sign * mine.score, sign * theirs.score)) != "undecided":
                break
        return guarded(gate.ruling(), self._guards())

    async def holdout(self, ruling: Ruling) -> Ruling:
        """The holdout's word on a challenger that has passed; it can only forbid."""
        mine = await self._judge(self.challenger, "gate", 0, "holdout")
        theirs = await self._judge(self.champion, "gate", 0, "holdout")
        assert mine is not None and theirs is not None  # holdout runs need no budget
        if mine.score is None or theirs.score is None:
            worse = mine if mine.score is None else theirs
            return replace(ruling, promoted=False, reason=f"holdout: {worse.verdict}: {worse.reason}")
        noisy = self.run.rule == "evalue"
        sign = int(self.run.population.sign)
        allowed, words = holdout_allows(scores_of(mine, noisy), scores_of(theirs, noisy), sign, noisy)
        evidence = {**ruling.evidence, "holdout": {"challenger": mine.score, "champion": theirs.score}}
        joined = f"{ruling.reason}; {words}" if allowed else f"{ruling.reason}, but {words}"
        return replace(ruling, promoted=allowed, reason=joined, evidence=evidence)

    async def _judge(
        self, candidate: str, purpose: Purpose, seed: int, split: Split = "search"
    ) -> Evaluation | None:
        """Judge once, or find what was judged before; None where the budget has no room."""
        run = self.run
        for known in run.reader.evaluations(candidate=candidate, split=split, purpose=purpose):
            if known.seed == seed and known.verdict != "could_not_judge":
                return known
        wanting = run.price - run.held.get(self.proposal.number, 0)
        if split == "search" and wanting > 0 and not run.hold(self.proposal.number, wanting):
            return None
        return await run.judge(
            run.population.candidates[candidate], self.proposal.number, purpose, seed, split
        )

    def _last(self, candidate: str) -> Evaluation:
        return list(self.run.reader.evaluations(candidate=candidate, split="search"))[-1]

    def _guards(self) -> tuple[Guard, ...]:
        names = self.run.config.promotion.no_worse
        if not names:
            return ()
        mine, theirs = self._last(self.challenger).metrics, self._last(self.champion).metrics
        return guards(names, mine, theirs, int(self.run.population.sign))


def scores_of(evaluation: Evaluation, noisy: bool) -> Scores:
    """Scores by case where they say the same as the objective and noise makes them worth having."""
    score = evaluation.score or 0.0
    cases = {case.name: case.score for case in evaluation.cases}
    if noisy and len(cases) > 1 and math.isclose(math.fsum(cases.values()) / len(cases), score, rel_tol=1e-9):
        return cases
    return score


async def _decide(run: Run, challenger: str, ruling: Ruling) -> None:
    standing = run.population.standing(challenger)
    before = run.population.champion
    decision = Decision(
        id=run.number("decision"),
        challenger=challenger,
        champion=before.candidate,
        proposal=run.population.candidates[challenger].proposal,
        promoted=ruling.promoted,
        rule=ruling.rule,
        reason=ruling.reason,
        evidence={**ruling.evidence, "score": standing.score if standing else None},
    )
    champion = Champion(before.version + 1, challenger, decision.id)
    if ruling.promoted:
        await run.record(decision, champion, _news(run, decision))
    else:
        await run.record(decision)
    reach("challenge.decided")
    run.refused.add(challenger)
    if ruling.promoted:
        run.population.crown(champion)
        known = run.population.candidates
        if not run.store.move_champion(known[challenger].commit, known[before.candidate].commit):
            raise StoreError(
                f"{run.store.path}: the champion's ref was moved by somebody else; stop what writes there"
            )
        reach("challenge.crowned")
    run.listener("decision", decision)


def _news(run: Run, decision: Decision) -> Event:
    scores = [run.population.standing(id) for id in (decision.challenger, decision.champion)]
    new, old = (f"{one.score:.7g}" if one else "?" for one in scores)
    words = f"{new} (was {old}): {decision.challenger[:10]}, proposal {decision.proposal}: {decision.reason}"
    return Event("champion", words, data={"candidate": decision.challenger, "decision": decision.id})
