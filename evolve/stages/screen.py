"""Screen: the cheaper stages in front of the full evaluation, and what may be left out of that.

Each stage is judged once, under seed 0, on the same cases for every candidate. Who misses a gate gets a last
record that says so: cancelled, without a score and without a run. Nothing that a stage says is ever a
candidate's score.

*What is protected.* The full evaluation is cut short only where the decision it serves cannot change. Under
`cut_short = "archive"` that is whether the candidate is held in its cell of the archive or is better than the
champion, as both stand when its evaluation begins: with room in its cell, or with a cell that only the
evaluator can tell, nothing is left out. Under "champion" it is the second alone. With repeats, what the later
ones could add at best is counted in, and only the first is ever cut short.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import replace

from archives.errors import EvaluatorError
from archives.records import Candidate, Evaluation, Proposal
from evaluators.contract import Outcome
from evolve.assembly import Assembly, Key
from evolve.bounds import Bar
from evolve.cascade import Stage, full, screens
from evolve.evaluating import Errand, journaled
from evolve.promotion import ROUNDING
from evolve.rulings import shown
from evolve.run import Run

SEED = 0
ENOUGH = 8
"""Scores at a stage before "top 25%" means anything."""


async def screened(run: Run, proposal: Proposal, candidate: Candidate) -> bool:
    """Let a candidate pass the earlier stages; False where one of them ends its way.

    A run that was killed may have judged some of the stages already; those are not judged again.
    """
    known = _known(run, candidate) if proposal.number in run.resumed else {}
    for stage in screens(run.config):
        bar = _bar(run, stage, proposal)
        found = known.get(stage.name)
        if found is None:
            found = await run.judge(candidate, proposal.number, "search", SEED, stage=stage, bar=bar)
            _remember(run, stage, found)
        missed = _missed(run, stage, found, bar)
        if missed is not None:
            verdict = "cancelled" if found.verdict in ("judged", "cancelled") else found.verdict
            closing = Outcome(verdict, reason=missed, feedback=found.feedback, attempts=0)
            errand = Errand(candidate, proposal.number, "search", SEED, full(run.config))
            await journaled(run, errand.record(run, closing))
            return False
    return True


async def screen_base(run: Run) -> None:
    """See that the base can be judged at each stage, and tell where it would not pass its gate.

    Raises:
        EvaluatorError: It cannot be judged, so no candidate could pass.
    """
    known = _known(run, run.base)
    for stage in screens(run.config):
        found = known.get(stage.name)
        if found is None:
            if not run.hold(0, stage.runs):
                return
            found = await run.judge(run.base, 0, "baseline", SEED, stage=stage)
            run.let_go(0)
            if found.verdict != "judged":
                raise EvaluatorError(
                    f"the base cannot be judged at stage {stage.name}: {found.verdict}: {found.reason}"
                )
            bar = _fixed(run, stage)
            if bar is not None and (missed := _missed(run, stage, found, bar)) is not None:
                await run.tell("stages", f"the base itself would not pass {missed}")


def decisive(run: Run, candidate: Candidate, seed: int) -> Bar | None:
    """What the full evaluation must reach for its rest to matter; None where all of it does."""
    table, span = run.config.evaluator, run.config.promotion.range
    if table.chunk is None or span is None or table.cut_short == "never" or seed != SEED:
        return None
    population, repeats = run.population, table.repeats
    champion = population.champion.candidate
    merit = population.grid.merit_for(population.estimate(champion), repeats)
    bar = Bar(merit, "what the champion has", True, champion)
    if table.cut_short == "archive":
        held = population.bar(candidate, repeats)
        if held is None:
            return None
        other = Bar(held[0], "what its cell of the archive holds", True, held[1])
        bar = min(bar, other, key=lambda one: one.merit)
    best = max(population.sign * end for end in span)
    return replace(bar, merit=repeats * bar.merit - (repeats - 1) * best)


def _known(run: Run, candidate: Candidate) -> dict[str, Evaluation]:
    rows = run.reader.evaluations(candidate.id, "search", every=True)
    return {row.stage: row for row in rows if row.part is None and row.evaluator == run.evaluator}


def _remember(run: Run, stage: Stage, found: Evaluation) -> None:
    if stage.name in run.merits and found.score is not None:
        insort(run.merits[stage.name], run.population.sign * found.score)


def _merits(run: Run, stage: Stage) -> list[float]:
    if stage.name not in run.merits:
        scores = run.reader.stage_scores(stage.name, run.evaluator)
        run.merits[stage.name] = sorted(run.population.sign * score for score in scores)
    return run.merits[stage.name]


def _bar(run: Run, stage: Stage, proposal: Proposal) -> Bar | None:
    """What a candidate must reach at a stage, as things stand when it gets there."""
    if stage.gate is None:
        return None
    if stage.top is not None:
        merits = _merits(run, stage)
        place = round((1 - stage.top) * len(merits))
        return Bar(merits[place] - stage.slack, str(stage.gate)) if len(merits) >= ENOUGH else None
    if not isinstance(stage.gate, str):
        return _fixed(run, stage)
    other = proposal.parent if stage.gate == "parent" else run.population.champion.candidate
    merit = _merit_at(run, stage, other)
    return None if merit is None else Bar(merit - stage.slack, f"what the {stage.gate} has")


def _fixed(run: Run, stage: Stage) -> Bar | None:
    if stage.gate is None or isinstance(stage.gate, str):
        return None
    return Bar(run.population.sign * stage.gate - stage.slack, "its gate")


def _merit_at(run: Run, stage: Stage, candidate: str) -> float | None:
    """The score of a candidate at a stage, put together from its cases where they were judged apart."""
    rows = list(run.reader.evaluations(candidate, "search", every=True))
    for row in rows:
        same = row.stage == stage.name and row.part is None and row.evaluator == run.evaluator
        if same and row.score is not None:
            return run.population.sign * row.score
    if stage.chunk is None or stage.cases is None:
        return None
    assembly = Assembly(Key(candidate, "search", SEED, run.evaluator), stage.cases)
    for row in rows:
        assembly.add(row)
    return None if assembly.missing else run.population.sign * (assembly.result().score or 0.0)


def _missed(run: Run, stage: Stage, found: Evaluation, bar: Bar | None) -> str | None:
    """Why a candidate does not go on, in one line; None where it does."""
    if found.score is None:
        return f"stage {stage.name}: {found.reason}"
    merit = run.population.sign * found.score
    if bar is None or merit >= bar.merit - ROUNDING * max(abs(merit), abs(bar.merit)):
        return None
    needed = shown(run.population.sign * bar.merit)
    return f"stage {stage.name}: {shown(found.score)}; needed {needed}, {bar.words}"
