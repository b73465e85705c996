"""What a reflecting model is asked, and the lessons that are read from its answer.

It sees changes and what the evaluator said about them, never the holdout. It answers in typed fields, which
our code turns into text: nothing it writes reaches a prompt otherwise. A lesson has to name the evaluations
that speak for it, and only those that the model has seen count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archives.records import Evaluation, Lesson, Proposal
from evolve.prompts import quoted
from evolve.quoting import one_line, plain, shorten

MOST = 5
"""Lessons that are taken from one reflection."""
LONGEST_CLAIM = 300
LONGEST_SCOPE = 80
FEWEST_WORDS = 3
SKETCH = 2_500
FEEDBACK = 800
"""Characters of a change, and of what the evaluator said about it."""
KNOWN = 20
"""Lessons that are shown to the model, so that it does not write them again."""

_NUMBERS = {"type": "array", "items": {"type": "integer"}}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "lessons": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": ["string", "null"]},
                    "scope": {"type": ["string", "null"]},
                    "lesson": {"type": ["integer", "null"]},
                    "for": _NUMBERS,
                    "against": _NUMBERS,
                },
                "required": ["claim", "scope", "lesson", "for", "against"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lessons"],
    "additionalProperties": False,
}
"""JSON schema of an answer, for models that keep to one."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A change and what came of it.

    Attributes:
        proposal: The proposal, done.
        evaluation: The evaluation that judged its candidate.
        before: Objective of the parent.
        sketch: The change as a diff.
    """

    proposal: Proposal
    evaluation: Evaluation
    before: float | None
    sketch: str


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A lesson as the model wrote it; `lesson` is the number of a known one that it speaks about."""

    claim: str
    scope: str
    supports: tuple[int, ...]
    contradicts: tuple[int, ...]
    lesson: int | None = None


def trials_section(trials: Sequence[Trial]) -> str:
    """The trials as quoted data."""
    return "\n\n".join(_trial(trial) for trial in trials)


def _trial(trial: Trial) -> str:
    proposal, judged = trial.proposal, trial.evaluation
    after = judged.verdict if judged.score is None else f"{judged.score:.10g}"
    before = "not judged" if trial.before is None else f"{trial.before:.10g}"
    said = [shorten(plain(text).strip(), FEEDBACK) for text in _said(judged) if text.strip()]
    parts = [f"title: {one_line(proposal.summary)}", shorten(plain(trial.sketch), SKETCH)]
    parts += [f"the evaluator: {text}" for text in said]
    head = f"Evaluation {judged.id}: {proposal.operator} took the objective from {before} to {after}."
    return f"{head}\n{quoted(chr(10).join(parts), 'a change and what was said about it')}"


def _said(evaluation: Evaluation) -> Iterator[str]:
    yield evaluation.feedback or evaluation.reason or ""
    worst = sorted((case for case in evaluation.cases if case.feedback), key=lambda case: case.score)
    for case in worst[:3]:
        yield f"case {case.name}: {case.feedback}"


def known_section(lessons: Sequence[Lesson]) -> str:
    """The lessons there are, newest first; empty if there are none."""
    if not lessons:
        return ""
    lines = [f"lesson {each.id}, about {each.scope}: {each.claim}" for each in reversed(lessons[-KNOWN:])]
    return f"Lessons that are known already:\n\n{quoted(chr(10).join(lines), 'lessons')}\n\n"


def conclusions(reply: str, evaluations: Collection[int], lessons: Collection[int]) -> list[Conclusion]:
    """The lessons in an answer; what is not sound is passed over.

    Args:
        reply: The answer; a JSON array somewhere in it.
        evaluations: Evaluations that the model has seen.
        lessons: Lessons that it may speak about.
    """
    found = []
    for entry in _entries(reply):
        supports = _numbers(entry.get("for"), evaluations)
        contradicts = tuple(n for n in _numbers(entry.get("against"), evaluations) if n not in supports)
        about = entry.get("lesson")
        claim = one_line(entry.get("claim") or "", LONGEST_CLAIM)
        scope = one_line(entry.get("scope") or "everything", LONGEST_SCOPE)
        if isinstance(about, int) and about in lessons and (supports or contradicts):
            found.append(Conclusion("", "", supports, contradicts, about))
        elif about is None and supports and len(claim.split()) >= FEWEST_WORDS:
            found.append(Conclusion(claim, scope, supports, contradicts))
    return found[:MOST]


def _entries(reply: str) -> Iterator[Mapping[str, Any]]:
    """The objects of the first JSON array in a text."""
    decoder = json.JSONDecoder()
    for start in re.finditer(r"\[", reply):
        try:
            found, _ = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        if any(isinstance(entry, dict) for entry in found):
            yield from (entry for entry in found if isinstance(entry, dict))
            return


def _numbers(value: object, known: Collection[int]) -> tuple[int, ...]:
    given = value if isinstance(value, list) else [value]
    return tuple(sorted({n for n in given if isinstance(n, int) and not isinstance(n, bool) and n in known}))
