"""The answer of `evolve check` for people."""

from __future__ import annotations

import click

from evolve.answers import Check, ModelAnswer
from evolve.views.words import clean, number, seconds


def show_check(answer: Check, words: str) -> None:
    """Print what was found out.

    Args:
        answer: The answer.
        words: What the evaluator said, shown where it did not judge.
    """
    rows = [("verdict", answer.verdict + (f": {answer.reason}" if answer.reason else ""))]
    if answer.score is not None:
        rows.append(("score", f"{number(answer.score)} (mean of {answer.runs})"))
    if answer.noise is not None:
        rows.append(("noise", _noise(answer.noise)))
    rows.append(("time", f"{seconds(answer.seconds)} a run"))
    rows.append(("executor", answer.executor))
    rows.append(("sandbox", f"{answer.sandbox.tier}: {', '.join(answer.sandbox.walls) or 'no walls'}"))
    rows += [("missing", wall) for wall in answer.sandbox.missing]
    rows.append(("candidate", _where_it_runs(answer)))
    rows.append(("operators", ", ".join(answer.operators)))
    rows += [("", f"without {name}: {reason}") for name, reason in answer.skipped.items()]
    rows += [("sends", clean(path)) for path in answer.sends] or [("sends", "nothing to any model provider")]
    rows += [("secret", clean(text)) for text in answer.secrets]
    rows += [("model", _model(each)) for each in answer.models]
    estimate = [
        f"{name} {seconds(value) if name == 'seconds' else number(value)}"
        for name, value in answer.estimate.items()
    ]
    rows.append(("estimate", ", ".join(estimate) or "no limit in evaluations, proposals or time"))
    rows += [("note", f"{remark.kind}: {clean(remark.text)}") for remark in answer.findings]
    for name, text in rows:
        click.echo(f"{name:<10} {text}" if name else f"{'':<10} {text}")
    if answer.verdict != "judged" and words.strip():
        click.echo("\nthe evaluator said:")
        for line in words.strip().splitlines()[-20:]:
            click.echo("  " + clean(line))


def _where_it_runs(answer: Check) -> str:
    if answer.sandbox.isolated:
        return "runs behind a second wall, where it cannot reach the evaluator"
    if answer.sandbox.inside:
        names = ", ".join(clean(path) for path in answer.sandbox.inside[:3])
        more = len(answer.sandbox.inside) - 3
        names += f" and {more} more" if more > 0 else ""
        return f"{names} shares the evaluator's process and could lie; `evaluators.isolated` separates them"
    return "not seen in the evaluator's own process, nor behind a second wall"


def _model(answer: ModelAnswer) -> str:
    if not answer.ok:
        return clean(f"no answer: {answer.reason}")
    price = "price not known"
    if answer.price_in is not None and answer.price_out is not None:
        price = f"${answer.price_in:.4g} and ${answer.price_out:.4g} per million tokens sent and received"
    context = f"{answer.context:,} tokens of context" if answer.context else "context size not known"
    return clean(f"{answer.where}: answers in {seconds(answer.seconds or 0.0)}, {price}, {context}")


def _noise(noise: float) -> str:
    if noise == 0:
        return "none: equal scores under different seeds (promotion rule strict)"
    return f"{number(noise)} standard deviation between seeds (promotion rule evalue)"
