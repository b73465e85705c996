"""Stages in front of the full evaluation, and evaluations in parts: whole campaigns on small repositories."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from caserun import alive, environment
from targets import config, patches, repository

import evolve as api
from archives.records import Evaluation
from evolve import answering
from evolve.config import parse
from evolve.tables.judging import EvaluatorTable

EVALUATE = """import json, os, sys, time
with open(os.environ["EVOLVE_REQUEST"]) as file:
    request = json.load(file)
with open("value.txt") as file:
    told = dict(line.split() for line in file)
cases = {}
for name in request["cases"]:
    if told[name] == "fail":
        sys.exit(f"{name} went wrong")
    if told[name] == "hang":
        time.sleep(1000)
    cases[name] = float(told[name])
print(json.dumps({"score": sum(cases.values()) / len(cases), "cases": cases, "feedback": request["stage"]}))
"""
NAMES = [f"q{n}" for n in range(1, 9)]


def told(*scores: object) -> str:
    """A candidate that says what each case gives."""
    return "".join(f"{name} {score}\n" for name, score in zip(NAMES, scores, strict=True))


HALF = told(1, 1, 1, 1, 0, 0, 0, 0)


def campaign(tmp_path: Path, texts: dict[str, str], evaluate: str = EVALUATE, **tables: Any) -> Any:
    """A campaign of ready-made candidates; keys of [evaluator] may be given as they are."""
    repo = repository(tmp_path / "target", {"value.txt": HALF, "evaluate.py": evaluate})
    folder = patches(repo, "value.txt", texts)
    evaluator = {"command": "python evaluate.py", "cases": NAMES}
    evaluator |= {key: tables.pop(key) for key in list(tables) if key in EvaluatorTable.model_fields}
    one_cell = [{"name": "lines", "bins": 1, "low": 0, "high": 100}]
    given = {
        "evaluator": evaluator,
        "operators": {"patches": {"folder": str(folder)}},
        "archive": {"measures": one_cell},
        "promotion": {"rule": "strict", "range": [0, 1]},
    }
    return api.create(repo, config(**given | tables))


def ran(tmp_path: Path, texts: dict[str, str], **more: Any) -> tuple[Any, list[Evaluation]]:
    made = campaign(tmp_path, texts, **more)
    assert not made.run_sync().failed
    with made.reader() as reader:
        return made, list(reader.evaluations(every=True))


def of(rows: list[Evaluation], proposal: int) -> list[tuple[str, int | None, str, int]]:
    return [(e.stage, e.part, e.verdict, len(e.cases)) for e in rows if e.proposal == proposal]


def test_a_gate_ends_a_candidates_way_without_a_score_and_a_stage_is_never_one(tmp_path: Path) -> None:
    texts = {"worse": told(1, 0, 1, 1, 1, 1, 1, 0), "better": told(1, 1, 1, 1, 1, 0, 0, 0)}
    smoke = {"name": "smoke", "cases": ["q1", "q2"], "gate": "parent"}
    made, rows = ran(tmp_path, texts, stages=[smoke, {"name": "sample", "sample": 3, "gate": 0.3}])
    assert of(rows, 0)[:2] == [("smoke", None, "judged", 2), ("sample", None, "judged", 3)]
    # It would have been champion in full: the gate is the user's word.
    assert of(rows, 1) == [("smoke", None, "judged", 2), ("full", None, "cancelled", 0)]
    gated = next(e for e in rows if e.proposal == 1 and e.whole)
    assert gated.reason == "stage smoke: 0.5; needed 1, what the parent has"
    assert (gated.score, gated.counted, gated.attempts, gated.seconds) == (None, False, 0, 0)
    assert [(s, v) for s, _, v, _ in of(rows, 2)] == [
        ("smoke", "judged"),
        ("sample", "judged"),
        ("full", "judged"),
    ]
    assert made.best().score == 5 / 8
    shown = made.show(gated.candidate)
    assert (shown.verdict, shown.score, shown.cell, shown.reason) == (
        "cancelled",
        None,
        None,
        gated.reason,
    )
    with made.reader() as reader:
        [first, _] = reader.proposals("done")
    assert (first.outcome, first.gain, first.reward) == ("candidate", None, 0.0)


def test_a_failure_at_a_cheap_stage_is_the_candidates_and_nothing_further_is_run(tmp_path: Path) -> None:
    made, rows = ran(
        tmp_path,
        {"broken": told("fail", 1, 1, 1, 1, 1, 1, 1)},
        stages=[{"name": "smoke", "cases": ["q1"]}],
    )
    assert of(rows, 1) == [("smoke", None, "failed", 0), ("full", None, "failed", 0)]
    assert made.show(rows[-1].candidate).verdict == "failed"
    with made.reader() as reader:
        assert answering.status(reader, made.home, None).failed == 1


def test_what_a_stage_has_judged_is_not_judged_again_where_cases_are_independent(tmp_path: Path) -> None:
    smoke = {"name": "smoke", "cases": ["q2", "q5"]}
    better = told(1, 1, 1, 1, 1, 1, 0, 0)
    _, rows = ran(tmp_path, {"better": better}, stages=[smoke], chunk=3)
    runs = [e for e in rows if e.proposal == 1 and e.attempts]
    assert [[case.name for case in e.cases] for e in runs] == [
        ["q2", "q5"],
        ["q6", "q7", "q8"],
        ["q1", "q3", "q4"],
    ]
    whole = rows[-1]
    assert (whole.whole, whole.score, [case.name for case in whole.cases]) == (True, 6 / 8, NAMES)
    assert (whole.attempts, whole.counted, sum(e.counted for e in runs)) == (0, False, 3)
    assert whole.seconds == pytest.approx(sum(e.seconds for e in runs if e.stage == "full"))
    apart = tmp_path / "apart"
    apart.mkdir()
    _, rows = ran(apart, {"better": better}, stages=[smoke])
    assert of(rows, 1) == [("smoke", None, "judged", 2), ("full", None, "judged", 8)]


def test_the_rest_is_left_out_only_where_neither_archive_nor_champion_can_change(tmp_path: Path) -> None:
    texts = {
        "hopeless": told(0, 0, 0, 0, 0, 1, 1, 1),
        "late": told(0, 0, 0, 1, 1, 1, 1, 1),
        "tie": HALF.replace("q1 1", "q1 0").replace("q8 0", "q8 1"),
    }
    made, rows = ran(tmp_path, texts, chunk=1)
    hopeless = of(rows, 1)
    assert hopeless[-1] == ("full", None, "cancelled", 7)
    assert len(hopeless) == 8  # what never began has no record of its own
    assert rows[-1].whole
    assert of(rows, 2)[-1] == ("full", None, "judged", 8)
    assert made.best().score == 5 / 8
    with made.reader() as reader:
        status = answering.status(reader, made.home, None)
    assert status.verdicts == {"cancelled": 2, "judged": 2}
    assert sum(e.score is not None and e.verdict != "judged" for e in rows) == 0


def test_who_gains_nothing_where_the_champion_fails_is_given_up_after_those_cases(tmp_path: Path) -> None:
    _, rows = ran(tmp_path, {"same": HALF + "q9 0\n"}, chunk=2)
    runs = [[case.name for case in e.cases] for e in rows if e.proposal == 1 and e.part]
    assert runs == [["q5", "q6"], ["q7", "q8"]]
    assert rows[-1].reason == "at best 0.5 after 4 of 8 cases; needed more than 0.5, what the champion has"


@pytest.mark.parametrize(("protected", "verdict"), [("archive", "judged"), ("champion", "cancelled")])
def test_with_room_in_its_cell_nothing_is_left_out_unless_only_the_champion_counts(
    tmp_path: Path, protected: str, verdict: str
) -> None:
    other = told(0, 0, 0, 0, 0, 0, 0, 1) + "q9 0\n" * 40
    archive = {"measures": [{"name": "lines", "bins": 2, "low": 0, "high": 40}]}
    _, rows = ran(tmp_path, {"other": other}, archive=archive, chunk=1, cut_short=protected)
    assert rows[-1].verdict == verdict


def test_a_failing_part_ends_the_others_and_everything_they_started(tmp_path: Path) -> None:
    bad = told("hang", "fail", 1, 1, 1, 1, 1, 1)
    workers = {"propose": 1, "evaluate": 2}
    _, rows = ran(tmp_path, {"bad": bad}, chunk=1, cut_short="never", workers=workers)
    ends = {e.part: e.verdict for e in rows if e.proposal == 1}
    assert ends == {1: "cancelled", 2: "failed", None: "failed"}
    assert rows[-1].reason == "cases q2: exit 1: q2 went wrong"
    assert not alive(str(tmp_path))


def test_an_objective_that_is_not_the_mean_of_the_cases_is_refused_with_the_base(tmp_path: Path) -> None:
    made = campaign(tmp_path, {"any": told(*[1] * 8)}, EVALUATE.replace("/ len(cases)", "* 2"), chunk=4)
    with pytest.raises(api.EvolveError, match="not the mean of the cases"):
        made.run_sync()


@pytest.mark.parametrize("moment", [2, 5, 7, 9])
@pytest.mark.parametrize("point", ["evaluate.judged", "evaluate.recorded"])
def test_killed_between_parts_nothing_is_judged_twice(tmp_path: Path, point: str, moment: int) -> None:
    texts = {"better": told(1, 1, 1, 1, 1, 0, 0, 0), "gated": told(0, 0, 1, 1, 1, 1, 1, 1)}
    stages = [{"name": "smoke", "cases": ["q1", "q2"], "gate": "champion"}]
    made = campaign(tmp_path, texts, stages=stages, chunk=2)
    command = [sys.executable, "-m", "evolve", "resume", "--campaign", made.name]
    for extra in ({"EVOLVE_CRASH_AT": f"{point}:{moment}"}, {}):
        ended = subprocess.run(
            command, cwd=made.repository.root, env=environment(**extra), capture_output=True, text=True
        )
        assert ended.returncode == (-signal.SIGKILL if extra else 0), ended.stderr
    with made.reader() as reader:
        rows = list(reader.evaluations(every=True))
    judged = [(e.candidate, e.seed, case.name) for e in rows if e.attempts for case in e.cases]
    assert len(judged) == len(set(judged)) == 8 + 8 + 2
    wholes = [(e.proposal, e.verdict, e.score) for e in rows if e.whole]
    assert wholes == [(0, "judged", 0.5), (1, "judged", 5 / 8), (2, "cancelled", None)]
    assert [e.id for e in rows] == list(range(1, len(rows) + 1))


def test_runs_at_stages_count_and_never_exceed_the_budget(tmp_path: Path) -> None:
    texts = {f"p{n}": told(1, 1, 1, 1, *[int(n == k) for k in range(4)]) for n in range(4)}
    smoke = {"name": "smoke", "cases": ["q1"]}
    made, _ = ran(tmp_path, texts, stages=[smoke], chunk=4, budget={"evaluations": 8})
    with made.reader() as reader:
        counts = reader.counts()
        assert sum(e.counted for e in reader.evaluations(every=True)) == counts.counted <= 8
        assert counts.outcomes == {"candidate": 1}  # the base takes 3, a candidate 3: a third would not fit
        assert answering.evaluations(reader).total == counts.evaluations


def test_mistakes_in_stages_are_one_line() -> None:
    tables: dict[str, Any] = {"artifact": {"include": ["a"]}}
    for evaluator, words in (
        ({"stages": [{"name": "full"}]}, "choose another name"),
        ({"stages": [{"name": "s", "gate": "best"}]}, 'a gate is a score such as 0.5, "parent"'),
        ({"stages": [{"name": "s", "sample": 2}]}, "samples 2 of 0 cases"),
        ({"stages": [{"name": "s"}, {"name": "s"}]}, "stands in it twice"),
        ({"chunk": 2}, "name the cases to split"),
        (
            {"cases": ["x"], "chunk": 1, "confidence": 0.9},
            "evolve.toml: evaluator.confidence: give promotion.range",
        ),
        ({"stages": [{"name": "s", "cases": ["h"]}]}, "'h' is a case of the holdout"),
    ):
        with pytest.raises(api.ConfigError, match=words):
            parse(tables | {"evaluator": {"command": "x", **evaluator}, "holdout": {"cases": ["h"]}})


def test_status_tells_how_many_each_stage_ended_and_what_that_saved(tmp_path: Path) -> None:
    texts = {
        "gated": told(0, 0, 1, 1, 1, 1, 1, 1),
        "cut": told(1, 1, 0, 0, 0, 0, 0, 0),
        "better": told(1, 1, 1, 1, 1, 0, 0, 0),
    }
    smoke = {"name": "smoke", "cases": ["q1", "q2"], "gate": 0.5}
    made, rows = ran(tmp_path, texts, stages=[smoke], chunk=1)
    with made.reader() as reader:
        status = answering.status(reader, made.home, None)
        listed = answering.evaluations(reader).evaluations
    fates = {name: dict(vars(fate)) for name, fate in status.evaluator_stages.items()}
    assert {name: (f["judged"], f["gated_out"], f["cut_short"]) for name, f in fates.items()} == {
        "smoke": (4, 1, 0),
        "full": (2, 0, 1),
    }
    mean = sum(e.seconds for e in rows if e.whole and e.verdict == "judged") / 2
    cut = next(e for e in rows if e.whole and e.proposal == 2)
    assert status.saved == pytest.approx(2 * mean - cut.seconds)
    assert (status.runs, status.evaluations) == (sum(e.attempts > 0 for e in rows),) * 2
    assert [(one.stage, one.part) for one in listed if one.proposal == 1] == [
        ("smoke", 1),
        ("smoke", 2),
        ("smoke", None),
        ("full", None),
    ]
