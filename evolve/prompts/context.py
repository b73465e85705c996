"""What a prompt tells about a version besides its files: the verdict, other candidates, earlier attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from archives.records import CaseScore
from evolve.operators.base import Order, Source
from evolve.prompts import quoted
from evolve.quoting import one_line, plain, shorten

Estimate = Callable[[str], int]
MOST_CASES = 20
_SHRINK = 0.8


def within(text: str, estimate: Estimate, size: int) -> str:
    """Text cut in the middle until it is at most `size` tokens long; empty if next to nothing fits."""
    if size < 8:
        return ""
    limit = len(text)
    cut = text
    while (tokens := estimate(cut)) > size:
        limit = int(limit * min(_SHRINK, size / tokens))
        if limit < 8:
            return ""
        cut = shorten(text, limit)
    return cut


def verdict_section(order: Order, objective: str, direction: str, estimate: Estimate, size: int) -> str:
    """What the evaluator said about the parent, its worst cases first."""
    if order.parent_score is None:
        said = "The evaluator gave this version no score."
    else:
        better = "higher" if direction == "maximize" else "lower"
        score = f"{order.parent_score:.10g}"
        said = f'The evaluator scored this version {score} ("{objective}", {better} is better).'
    cases = _cases(order.cases, direction)
    parts = [part for part in (plain(order.feedback).strip(), "\n".join(cases)) if part]
    text = within("\n\n".join(parts), estimate, size - estimate(said) - 20)
    if not text:
        return f"{said}\n\n"
    return f"{said} It also said:\n\n{quoted(text, 'evaluator')}\n\n"


def _cases(cases: Sequence[CaseScore], direction: str) -> list[str]:
    """The cases that did worse than the best of them or about which something was said, the worst first."""
    sign = 1.0 if direction == "maximize" else -1.0
    best = max((sign * case.score for case in cases), default=0.0)
    failing = [case for case in cases if sign * case.score < best or case.feedback]
    failing.sort(key=lambda case: (sign * case.score, case.name))
    lines = [
        one_line(f"case {case.name}: {case.score:.6g}" + (f", {case.feedback}" if case.feedback else ""), 400)
        for case in failing[:MOST_CASES]
    ]
    more = len(failing) - MOST_CASES
    return [*lines, f"and {more} more cases"] if more > 0 else lines


def inspirations_section(order: Order, source: Source, estimate: Estimate, size: int) -> str:
    """Other candidates as differences from the parent; empty if there are none or none fits."""
    others = [candidate for candidate in order.inspirations if candidate.id != order.parent.id]
    blocks = []
    for candidate in others:
        difference = plain(source.store.sketch(order.parent.id, candidate.id))
        text = within(difference, estimate, size // len(others) - 40)
        if text:
            title = one_line(candidate.summary) or "no title"
            blocks.append(quoted(f"{title}\n\n{text}", "another candidate"))
    if not blocks:
        return ""
    listed = "\n\n".join(blocks)
    return f"Other versions that did well, as differences from this one; borrow their ideas:\n\n{listed}\n\n"


def tried_section(order: Order, estimate: Estimate, size: int) -> str:
    """What was tried from the parent and won nothing, the latest first; empty if there is nothing."""
    lines = [
        f"{one_line(each.summary, 100) or 'a change'}: {one_line(each.came, 160)}" for each in order.tried
    ]
    text = _as_many_as_fit(lines, estimate, size - 40)
    if not text:
        return ""
    listed = quoted(text, "earlier attempts")
    return f"Tried from this version already, and not better; do not repeat it:\n\n{listed}\n\n"


def lessons_section(order: Order, estimate: Estimate, size: int) -> str:
    """What earlier evaluations taught; empty if there is nothing."""
    lines = [one_line(lesson, 400) for lesson in order.lessons]
    text = _as_many_as_fit(lines, estimate, size - 40)
    if not text:
        return ""
    listed = quoted(text, "lessons")
    return f"What earlier evaluations suggest (claims to weigh, some may be wrong):\n\n{listed}\n\n"


def _as_many_as_fit(lines: Sequence[str], estimate: Estimate, size: int) -> str:
    kept: list[str] = []
    for line in lines:
        size -= estimate(line) + 1
        if size < 0:
            break
        kept.append(line)
    return "\n".join(kept)
