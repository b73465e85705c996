"""Baseline: judge the user's own commit first; under the automatic rule, often enough to see its noise."""

from __future__ import annotations

import statistics

import trio

from archives.errors import EvaluatorError
from archives.records import Evaluation
from evolve.promotion import looks_noisy
from evolve.run import Rule, Run

LOOKS = 5
TIME_CAP = 120.0


async def baseline(run: Run) -> None:
    """Judge the base and find out which promotion rule fits. What an earlier run has judged is not repeated.

    Raises:
        EvaluatorError: The base cannot be judged, so nothing could be compared with it.
    """
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
        if not run.hold(0, 1):
            break
        evaluation = await run.judge(run.base, 0, "baseline", seed)
        if evaluation.verdict != "judged":
            raise EvaluatorError(_complaint(evaluation))
        done[seed] = evaluation
    if not done:
        raise EvaluatorError("budget.evaluations leaves none for the base; raise it")
    if run.reader.setting("rule") is None:
        await _find_rule(run, [done[seed] for seed in sorted(done)], automatic)


async def _find_rule(run: Run, looks: list[Evaluation], automatic: bool) -> None:
    scores = [e.score for e in looks if e.score is not None]
    noisy = looks_noisy(scores)
    rule: Rule = "evalue" if run.config.promotion.rule == "evalue" or (automatic and noisy) else "strict"
    noise = statistics.stdev(scores) if len(scores) > 1 else 0.0
    await run.settle_rule(rule, noise)
    spread = f"spread {noise:.3g} over {len(scores)} runs" if len(scores) > 1 else "judged once"
    await run.tell("baseline", f"{scores[0]:.6g} ({spread}); rule {rule}")


def _complaint(evaluation: Evaluation) -> str:
    words = {"failed": "the evaluator fails on the base", "invalid": "the result for the base is invalid"}
    what = words.get(evaluation.verdict, "the evaluator could not judge the base")
    return f"{what}: {evaluation.reason}; `evolve check` shows its output"
