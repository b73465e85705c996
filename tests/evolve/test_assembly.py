"""Scores of cases are taken over from earlier runs only where it is the same question."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from archives.records import CaseScore, Evaluation
from evolve.assembly import Assembly, Key

NAMES = [f"q{n}" for n in range(6)]
KEYS = st.builds(
    Key, st.sampled_from("ab"), st.sampled_from(["search", "holdout"]), st.integers(0, 1), st.integers(1, 2)
)


@st.composite
def runs(draw: st.DrawFn) -> Evaluation:
    """A run whose scores say which key they belong to."""
    key, names = draw(KEYS), draw(st.lists(st.sampled_from(NAMES), unique=True))
    verdict = draw(st.sampled_from(["judged", "judged", "cancelled", "failed"]))
    return Evaluation(
        id=draw(st.integers(1, 9)),
        candidate=key.candidate,
        proposal=1,
        verdict=verdict,
        stage=draw(st.sampled_from(["smoke", "full"])),
        split=key.split,
        seed=key.seed,
        evaluator=key.evaluator,
        score=1.0 if verdict == "judged" else None,
        cases=tuple(CaseScore(name, worth(key, name)) for name in names),
        attempts=draw(st.integers(0, 1)),
        part=draw(st.none() | st.integers(1, 3)),
    )


def worth(key: Key, case: str) -> float:
    return float(sum(ord(letter) * place for place, letter in enumerate(f"{key}{case}", 1)))


@given(KEYS, st.lists(runs(), max_size=12), st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
@settings(max_examples=300, deadline=None)
def test_trees_cases_splits_seeds_and_versions_are_never_mixed(
    key: Key, rows: list[Evaluation], cases: list[str]
) -> None:
    assembly = Assembly(key, cases)
    for row in rows:
        assembly.add(row)
    assert assembly.scores == {name: worth(key, name) for name in cases if name in assembly.scores}
    assert set(assembly.missing) == set(cases) - set(assembly.scores)
    told = [row for row in rows if key.fits(row) and row.verdict == "judged" and row.attempts]
    assert set(assembly.scores) == {case.name for row in told for case in row.cases} & set(cases)


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6), st.integers(1, 6))
def test_the_score_does_not_depend_on_how_the_cases_were_split(scores: list[float], size: int) -> None:
    assembly = Assembly(Key("a", "search", 0, 1), NAMES)
    cases = [CaseScore(name, score) for name, score in zip(NAMES, scores, strict=True)]
    for start in range(0, 6, size):
        some = tuple(cases[start : start + size])
        assembly.add(
            Evaluation(
                1, "a", 1, "judged", part=1, cases=some, metrics={"ms": some[0].score}, feedback="slow\n"
            )
        )
    found = assembly.result()
    assert (found.score, found.cases) == (math.fsum(scores) / 6, tuple(cases))
    assert found.feedback == "slow"
    if size == 1:
        assert math.isclose(found.metrics["ms"], found.score or 0.0, rel_tol=1e-9, abs_tol=1e-9)
