"""What an orchestrator leaves for onlookers is what the journal implies, and is not believed where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.grid import Axis
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Candidate, Champion, Evaluation, Look, Setting, Stub
from evolve.answering import status
from evolve.derived import look
from evolve.population import Population
from evolve.summary import NAME, summarised, summary_of

AXES = [Axis("lines", bins=4)]


def candidate(number: int) -> Candidate:
    name = f"{number:040x}"
    return Candidate(
        name, name[::-1], number, (f"{0:040x}",), number, "tune", "", {"lines": float(number % 7)}
    )


def said(id: int, about: int, score: float | None, **more: Any) -> Evaluation:
    verdict = "failed" if score is None else "judged"
    return Evaluation(id=id, candidate=f"{about:040x}", proposal=about, verdict=verdict, score=score, **more)


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    with Journal.create(tmp_path / "campaign.db") as journal:
        settings = {
            "direction": "maximize",
            "depth": 1,
            "axes": [{"name": "lines", "bins": 4}],
            "base": f"{0:040x}",
        }
        base = Candidate(f"{0:040x}", "c" * 40, 0, (), 0, "base", "the base", {"lines": 3.0})
        journal.write(base, Champion(0, base.id), *(Setting(name, value) for name, value in settings.items()))
        yield journal


def test_an_old_summary_is_believed_only_of_a_long_campaign_that_runs(
    journal: Journal, tmp_path: Path
) -> None:
    journal.write(*(candidate(n) for n in range(1, 5)), *(said(n, n, n / 10) for n in range(1, 5)))
    with Reader(tmp_path / "campaign.db") as reader:
        true = summary_of(look(reader), 4)
        assert (true.highest, true.verdicts) == (f"{4:040x}", {"judged": 4})
        for left in (None, {**true.said(), "evaluation": 3, "highest": "wrong"}):
            journal.write(Setting(NAME, left))
            assert summarised(reader, running=True) == true
            assert summarised(reader, running=False) == true
        journal.write(said(2001, 1, 0.1))
        assert summarised(reader, running=True).highest == "wrong"
        assert summarised(reader, running=False).highest == f"{4:040x}"
        journal.write(Setting(NAME, {**true.said(), "evaluation": 2001, "coverage": 0.125}))
        assert status(reader, tmp_path, None).coverage == 0.125


looks = st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(-3, 3)), max_size=40)


@given(looks)
def test_heard_one_by_one_or_loaded_it_is_the_same(history: list[tuple[int, int | None]]) -> None:
    known = {f"{n:040x}": candidate(n) for n in range(7)}
    evaluations = [said(id, about, score) for id, (about, score) in enumerate(history, start=1)]
    live, loaded = (Population("minimize", AXES, 2, fetch=known.get) for _ in range(2))
    for one in known.values():
        live.add(one)
    for each in evaluations:
        live.hear(each)

    loaded.load(
        [Stub(one.id, one.parents, one.measures) for one in known.values()],
        [Look(e.candidate, e.verdict, e.purpose, e.evaluator, e.score, e.measures) for e in evaluations],
        [],
    )
    assert summary_of(live, 0) == summary_of(loaded, 0)
    scores: dict[str, list[int]] = {}
    for about, score in history:
        if score is not None:
            scores.setdefault(f"{about:040x}", []).append(score)
    means = {id: sum(values) / len(values) for id, values in scores.items()}
    assert live.highest() == min(means, key=lambda id: (means[id], id), default=None)
