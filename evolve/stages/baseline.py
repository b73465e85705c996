"""Baseline: judge the user's own commit first; under the automatic rule, often enough to see its noise."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from contextlib import suppress

import trio

from archives.errors import EvaluatorError
from archives.records import Candidate, Evaluation
from evaluators.contract import Outcome
from evolve.bench import Closed
from evolve.config import Config
from evolve.promotion import looks_noisy
from evolve.run import Rule, Run
from evolve.stages.screen import screen_base

LOOKS = 5
TIME_CAP = 120.0


async def baseline(run: Run) -> None:
    """Judge the base and find out which promotion rule fits. What an earlier run has judged is not repeated.

    Raises:
        EvaluatorError: The base cannot be judged, so nothing could be compared with it.
    """
    with suppress(Closed):
        await screen_base(run)
    known = list(run.reader.evaluations(candidate=run.base.id, split="search", purpose="baseline"))
    done = {e.seed: e for e in known if e.verdict == "judged"}
    automatic = run.config.promotion.rule == "auto"
    looks = max(run.config.evaluator.repeats, LOOKS if automatic else 1)
    started = trio.current_time()
    for seed in range(looks):
        late = trio.current_time() - started > TIME_CAP and seed >= run.config.evaluator.repeats + 1
        if seed in done or late:
            continue
        if run.stopping:
            return
        if not run.hold(0, run.price):
            break
        try:
            evaluation = await run.judge(run.base, 0, "baseline", seed)
        except Closed:
            break
        finally:
            run.let_go(0)
        if evaluation.verdict != "judged":
            raise EvaluatorError(_complaint(evaluation, "the base"))
        done[seed] = evaluation
    if not done:
        raise EvaluatorError("the budget leaves no evaluation for the base; raise it")
    looked = [done[seed] for seed in sorted(done)]
    survey_result(run.config, run.base, looked[0])
    if run.reader.setting("rule") is None:
        await _find_rule(run, looked, automatic)
    await _look_at_holdout(run)


def survey_result(config: Config, base: Candidate, evaluation: Evaluation | Outcome) -> None:
    """Check that what evolve.toml relies on is in the result.

    Raises:
        EvaluatorError: It is not.
    """
    for name in config.promotion.no_worse:
        if name.lstrip("+-") not in evaluation.metrics:
            raise EvaluatorError(
                f"promotion.no_worse: there is no metric {name.lstrip('+-')}; {_has(evaluation.metrics)}"
            )
    measures = {**base.measures, **evaluation.measures}
    for table in config.archive.measures:
        if table.name not in measures:
            raise EvaluatorError(f"archive.measures: nobody reports {table.name}; {_has(measures)}")
    span, score = config.promotion.range, evaluation.score
    if span is not None and score is not None and not span[0] <= score <= span[1]:
        raise EvaluatorError(f"promotion.range: the base scores {score:g}, outside of it; widen it")


def _has(names: Mapping[str, object]) -> str:
    return f"there is {', '.join(sorted(names))}" if names else "there is none at all"


async def _look_at_holdout(run: Run) -> None:
    """Judge the base on the holdout now: one that cannot be judged would forbid every promotion unheard."""
    if not run.config.holdout.present:
        return
    known = run.reader.evaluations(candidate=run.base.id, split="holdout")
    if any(evaluation.verdict == "judged" for evaluation in known):
        return
    with suppress(Closed):
        evaluation = await run.judge(run.base, 0, "gate", 0, "holdout")
        if evaluation.verdict != "judged":
            raise EvaluatorError(_complaint(evaluation, "the base on the holdout"))


async def _find_rule(run: Run, looks: list[Evaluation], automatic: bool) -> None:
    scores = [e.score for e in looks if e.score is not None]
    noisy = looks_noisy(scores)
    rule: Rule = "evalue" if run.config.promotion.rule == "evalue" or (automatic and noisy) else "strict"
    noise = statistics.stdev(scores) if len(scores) > 1 else 0.0
    await run.settle_rule(rule, noise)
    spread = f"spread {noise:.3g} over {len(scores)} runs" if len(scores) > 1 else "judged once"
    await run.tell("baseline", f"{statistics.fmean(scores):.6g} ({spread}); rule {rule}")


def _complaint(evaluation: Evaluation, whom: str) -> str:
    words = {"failed": f"the evaluator fails on {whom}", "invalid": f"the result for {whom} is invalid"}
    what = words.get(evaluation.verdict, f"the evaluator could not judge {whom}")
    return f"{what}: {evaluation.reason}; `evolve check` shows its output"
