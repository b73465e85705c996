"""What is known of a candidate's cases from earlier runs, and one result put together from several.

Only with `evaluator.chunk`, by which the user declares that a case's score depends on nothing but candidate,
case and seed. A score is taken over only from a run on the same tree, of the same split, with the same seed,
by the same version of the evaluator; which stage asked for it, and beside which other cases, is then no
matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from archives.records import CaseScore, Evaluation, Split, Verdict
from evaluators.contract import Outcome
from evaluators.reading import ARTIFACTS, FEEDBACK_BYTES
from evaluators.text import head


@dataclass(frozen=True, slots=True)
class Key:
    """What two runs must have in common for the one to stand for the other."""

    candidate: str
    split: Split
    seed: int
    evaluator: int

    def fits(self, row: Evaluation) -> bool:
        """Whether a run is one of these."""
        return self == Key(row.candidate, row.split, row.seed, row.evaluator)


@dataclass(slots=True)
class Assembly:
    """The cases of one evaluation, as far as they are known.

    Attributes:
        key: What all runs have in common.
        cases: Names of all cases, in the order of the result.
        pieces: Runs that were judged, each with the cases it is taken for.
    """

    key: Key
    cases: Sequence[str]
    pieces: list[tuple[Evaluation, tuple[CaseScore, ...]]] = field(default_factory=list)

    def add(self, row: Evaluation) -> None:
        """Take in a run; one that does not fit, was not judged, or tells nothing new changes nothing."""
        if not self.key.fits(row) or row.verdict != "judged" or row.attempts == 0:
            return
        wanted, known = set(self.cases), self.scores
        new = tuple(case for case in row.cases if case.name in wanted and case.name not in known)
        if new:
            self.pieces.append((row, new))

    @property
    def scores(self) -> dict[str, float]:
        """Scores by case."""
        return {case.name: case.score for _, cases in self.pieces for case in cases}

    @property
    def missing(self) -> list[str]:
        """Names of the cases that are not known yet."""
        known = self.scores
        return [case for case in self.cases if case not in known]

    def result(self) -> Outcome:
        """The result of all cases together: its score is their mean.

        Metrics and numeric measures are means too, each run weighted by its cases.
        """
        found = {case.name: case for _, cases in self.pieces for case in cases}
        return Outcome(
            verdict="judged",
            score=math.fsum(case.score for case in found.values()) / len(found),
            metrics=_mean([(row.metrics, len(cases)) for row, cases in self.pieces]),
            cases=tuple(found[name] for name in self.cases),
            measures=self._measures(),
            feedback=self._feedback(),
            artifacts=self._artifacts(),
            attempts=0,
        )

    def broken(self, verdict: Verdict, reason: str, feedback: str = "") -> Outcome:
        """The result where not all cases were judged: what is known, and no score."""
        cases = tuple(case for _, known in self.pieces for case in known)
        feedback = feedback or self._feedback()
        return Outcome(verdict, cases=cases, reason=reason, feedback=feedback, attempts=0)

    def _measures(self) -> dict[str, float | str]:
        numbers = [
            ({k: v for k, v in row.measures.items() if not isinstance(v, str)}, len(cases))
            for row, cases in self.pieces
        ]
        texts = {k: v for row, _ in reversed(self.pieces) for k, v in row.measures.items()}
        return {**texts, **_mean(numbers)}

    def _feedback(self) -> str:
        words = [row.feedback.rstrip() for row, _ in self.pieces if row.feedback.strip()]
        return head("\n".join(dict.fromkeys(words)), FEEDBACK_BYTES)

    def _artifacts(self) -> dict[str, str]:
        kept: dict[str, str] = {}
        for row, cases in self.pieces:
            for name, text in row.artifacts.items():
                kept[name if name not in kept else f"{name} ({cases[0].name})"] = text
        return dict(list(kept.items())[:ARTIFACTS])


def promised(row: Outcome) -> str | None:
    """Why a result breaks the promise that the objective is the mean of the cases; None if it does not."""
    if row.verdict != "judged" or row.score is None or not row.cases:
        return None
    mean = math.fsum(case.score for case in row.cases) / len(row.cases)
    if math.isclose(row.score, mean, rel_tol=1e-9, abs_tol=1e-9):
        return None
    return f"the objective {row.score:.10g} is not the mean of the cases, {mean:.10g}; chunk needs that"


def outside(cases: Iterable[CaseScore], span: tuple[float, float]) -> str | None:
    """Why the scores break the declared range; None if they do not."""
    for case in cases:
        if not span[0] <= case.score <= span[1]:
            return f"case {case.name!r} scores {case.score:.10g}, outside of promotion.range; widen it"
    return None


def _mean(weighted: Sequence[tuple[Mapping[str, float | str], int]]) -> dict[str, float]:
    sums: dict[str, list[tuple[float, int]]] = {}
    for values, weight in weighted:
        for name, value in values.items():
            if not isinstance(value, str):
                sums.setdefault(name, []).append((value, weight))
    return {
        name: math.fsum(value * weight for value, weight in found) / sum(weight for _, weight in found)
        for name, found in sums.items()
    }
