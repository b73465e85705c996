"""One evaluation of a candidate at one stage: in one run, or in parts that are put together; all journaled.

Each part is journaled when it ends, so a killed run judges only the parts that are missing. What the stage
says as a whole is a record of its own, which the parts before it add up to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from archives.crashpoints import reach
from archives.records import Candidate, Evaluation, Purpose, Split
from evaluators.contract import Outcome, Request
from evolve.assembly import Assembly, Key, outside, promised
from evolve.bounds import Bar, Outlook
from evolve.cascade import Stage
from evolve.parts import Pace, Parts
from evolve.randomness import rng

if TYPE_CHECKING:
    from evolve.run import Run


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be judged, and why.

    Attributes:
        candidate: Who is judged.
        proposal: Proposal that asks for it; 0 for the base.
        purpose: Why.
        seed: Seed for the evaluator.
        stage: At which stage.
        split: On which cases.
        bar: What the score must reach for the rest of the cases to matter; None judges all.
    """

    candidate: Candidate
    proposal: int
    purpose: Purpose
    seed: int
    stage: Stage
    split: Split = "search"
    bar: Bar | None = None

    def record(self, run: Run, found: Outcome, part: int | None = None) -> Evaluation:
        """The record of one outcome."""
        return Evaluation(
            id=run.number("evaluation"),
            candidate=self.candidate.id,
            proposal=self.proposal,
            verdict=found.verdict,
            stage=self.stage.name,
            part=part,
            split=self.split,
            purpose=self.purpose,
            seed=self.seed,
            evaluator=run.evaluator,
            score=found.score,
            metrics=found.metrics,
            cases=found.cases,
            measures=found.measures,
            feedback=found.feedback,
            reason=found.reason,
            artifacts=found.artifacts,
            seconds=found.seconds,
            cpu_seconds=found.cpu_seconds,
            attempts=found.attempts,
            counted=self.split == "search" and found.attempts > 0,
        )


async def evaluated(run: Run, errand: Errand) -> Evaluation:
    """Judge a candidate at a stage and journal it before anything else happens with it.

    Raises:
        Closed: The bench was closed before it could begin, or before all of its parts could.
    """
    stage = errand.stage
    if stage.chunk is not None and stage.cases is not None:
        split_up = InParts(run, errand, stage.cases)
        if len(split_up.chunks) != 1 or split_up.assembly.pieces or split_up.known:
            return await split_up.judge()
    request = _request(errand, stage.cases)
    found = await run.bench.judge(errand.candidate, request, errand.purpose, stage.timeout)
    return await journaled(run, errand.record(run, _checked(run, stage, found)))


async def journaled(run: Run, evaluation: Evaluation) -> Evaluation:
    """Write an evaluation down, charge it, and let everybody hear of it.

    Raises:
        JudgeChanged: What judges is not what it was, so the verdict is not believed.
    """
    await run.pins.verify()
    reach("evaluate.judged")
    await run.record(evaluation)
    reach("evaluate.recorded")
    if evaluation.counted:
        run.use(evaluation.proposal)
        run.gated += evaluation.purpose == "gate"
    run.population.hear(evaluation)
    if evaluation.attempts:
        run.measured(evaluation)
    run.listener("evaluation", evaluation)
    return evaluation


class InParts:
    """An evaluation in several runs.

    Attributes:
        assembly: What is known of the cases.
        known: Runs of its own that an earlier run of the campaign has journaled.
        chunks: The cases that are missing, run by run.
    """

    def __init__(self, run: Run, errand: Errand, cases: tuple[str, ...]) -> None:
        self.run, self.errand = run, errand
        key = Key(errand.candidate.id, errand.split, errand.seed, run.evaluator)
        self.assembly = Assembly(key, cases)
        self.known: list[Evaluation] = []
        for row in run.reader.evaluations(errand.candidate.id, errand.split, every=True):
            self.assembly.add(row)
            if key.fits(row) and row.stage == errand.stage.name and row.part is not None:
                self.known.append(row)
        missing = self.assembly.missing
        if errand.bar is not None:
            self._arrange(missing, errand.bar)
        self.chunks = errand.stage.chunks(missing)
        self._first = 1 + max((row.part or 0 for row in self.known), default=0)
        self._ending = next((_ending(row) for row in self.known if _ending(row)), None)
        span = run.config.promotion.range
        self._outlook = None
        if errand.bar is not None and span is not None:
            self._outlook = Outlook(
                self.assembly.scores,
                missing,
                (span[0], span[1]),
                errand.bar,
                int(run.population.sign),
                run.config.evaluator.confidence,
            )

    def _arrange(self, cases: list[str], bar: Bar) -> None:
        """Put cases into the order that decides soonest: a random one where chance may decide."""
        run, errand = self.run, self.errand
        if run.config.evaluator.confidence is not None:
            purpose = f"cases/{errand.candidate.id}/{errand.stage.name}/{errand.seed}"
            rng(run.seed, 0, purpose).shuffle(cases)
        elif bar.holder is not None:
            rows = run.reader.evaluations(bar.holder, errand.split)
            same = (row for row in rows if row.seed == errand.seed and row.evaluator == run.evaluator)
            row = next((one for one in same if one.verdict == "judged"), None)
            theirs = (
                {} if row is None else {case.name: run.population.sign * case.score for case in row.cases}
            )
            cases.sort(key=lambda case: theirs.get(case, -math.inf))

    async def judge(self) -> Evaluation:
        """Judge what is missing, and journal what all parts say together."""
        run, errand, stage = self.run, self.errand, self.errand.stage
        self._look_ahead()
        if self._ending is None and self.chunks:
            pace = run.paces.setdefault(stage.name, Pace()) if run.config.evaluator.hedge else None
            requests = [_request(errand, chunk) for chunk in self.chunks]
            parts = Parts(
                run.bench,
                errand.candidate,
                requests,
                errand.purpose,
                stage.timeout,
                self._settle,
                pace,
                self._afford,
            )
            await parts.run()
        found = self.assembly.result() if self._ending is None else self._ending
        seconds = math.fsum(row.seconds for row in self.known)
        cpu_seconds = math.fsum(row.cpu_seconds for row in self.known)
        found = replace(found, seconds=seconds, cpu_seconds=cpu_seconds, attempts=0)
        return await journaled(run, errand.record(run, found))

    async def _settle(self, part: int, found: Outcome) -> str | None:
        """Journal what came of a run; why the others are not needed, if they are not."""
        row = self.errand.record(self.run, _checked(self.run, self.errand.stage, found), self._first + part)
        await journaled(self.run, row)
        self.known.append(row)
        if row.verdict == "cancelled" or self._ending is not None:
            return None
        if row.verdict == "judged":
            self.assembly.add(row)
            if self._outlook is not None:
                self._outlook.hear({case.name: case.score for case in row.cases})
            self._look_ahead()
        else:
            asked = ", ".join(self.chunks[part][:3]) + (", …" if len(self.chunks[part]) > 3 else "")
            self._ending = self.assembly.broken(row.verdict, f"cases {asked}: {row.reason}", row.feedback)
        return None if self._ending is None else self._ending.reason

    def _look_ahead(self) -> None:
        """Give up where the bar is out of reach and something is left to save by it."""
        if self._outlook is None or self._ending is not None or not self.assembly.missing:
            return
        if (missed := self._outlook.missed) is not None:
            self._ending = self.assembly.broken("cancelled", missed)

    def _afford(self) -> bool:
        return self.errand.split == "holdout" or self.run.hold(self.errand.proposal, 1)


def _request(errand: Errand, cases: tuple[str, ...] | None) -> Request:
    return Request(errand.candidate.id, errand.stage.name, errand.split, cases, errand.seed)


def _checked(run: Run, stage: Stage, found: Outcome) -> Outcome:
    """The outcome, invalid where it breaks what the configuration promises of it."""
    if stage.chunk is None or found.verdict != "judged":
        return found
    broken = promised(found)
    span = run.config.promotion.range
    if broken is None and span is not None and run.config.evaluator.cut_short != "never":
        broken = outside(found.cases, (span[0], span[1]))
    return found if broken is None else replace(found, verdict="invalid", score=None, reason=broken)


def _ending(row: Evaluation) -> Outcome | None:
    """What a part that an earlier run has journaled means for the whole, where it ends it."""
    if row.verdict in ("judged", "cancelled", "could_not_judge"):
        return None
    return Outcome(row.verdict, reason=row.reason, feedback=row.feedback)
