from __future__ import annotations

from pathlib import Path

import pytest
from handmade import Handmade, answer, evolve, handmade

from archives.records import Basis, CaseScore, Proposal
from evolve.ownership import own

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def made(tmp_path: Path) -> Handmade:
    """A base (1), c1 (3, champion), c2 (a raw 4, not promoted), c3 (failed), c4 (a merge of c1 and c2)."""
    made = handmade(tmp_path)
    made.add("c1", 3.0, cases=(CaseScore("a", 3.0, "near"),), metrics={"ms": 5.0}, feedback="go on")
    made.crown("c1", "base")
    made.add("c2", 4.0, parent="base", inspirations=("c1",), operator="mutate")
    made.add("c3", None, parent="c1", verdict="failed", reason="it crashed")
    made.add("c4", 2.0, parent="c1", partner="c2", operator="crossover")
    made.duplicate("c1", "c2", 5)
    return made.write(spent={"wall": 12.5})


def test_status_counts_what_happened(capsys: Capture, made: Handmade) -> None:
    found = answer(capsys, made, "status")
    assert (found["campaign"], found["state"], found["version"]) == ("toy", "stopped", 1)
    assert (found["proposals"], found["candidates"], found["evaluations"]) == (5, 5, 5)
    assert (found["failed"], found["duplicates"], found["in_flight"], found["stale"]) == (1, 1, 0, 0)
    assert (found["best_score"], found["baseline_score"]) == (3.0, 1.0)
    assert found["champion"] == made.ids["c1"]
    assert found["highest"] == {"candidate": made.ids["c2"], "score": 4.0}
    assert found["budget"] == {"evaluations": {"limit": 10.0, "spent": 5.0}}
    assert found["verdicts"] == {"judged": 4, "failed": 1}
    assert found["spent"]["wall"] == 12.5
    assert found["elites"] == 4


def test_a_failed_candidate_is_in_no_cell(capsys: Capture, made: Handmade) -> None:
    held = {elite["candidate"] for elite in answer(capsys, made, "archive")["elites"]}
    assert made.ids["c3"] not in held
    assert held == {made.ids[name] for name in ("base", "c1", "c2", "c4")}
    assert answer(capsys, made, "show", made.ids["c3"])["cell"] is None


def test_a_campaign_that_says_it_runs_without_an_orchestrator_is_dead(
    capsys: Capture, made: Handmade
) -> None:
    made.write(state="running")
    found = answer(capsys, made, "status")
    assert (found["state"], found["pid"]) == ("dead", None)
    assert "evolve run" in found["reason"]
    with own(made.home / "lock"):
        assert answer(capsys, made, "status")["state"] == "running"
        assert answer(capsys, made, "list")["campaigns"][0]["state"] == "running"


def test_proposals_from_an_earlier_champion_are_stale(capsys: Capture, made: Handmade) -> None:
    made.rows += [Proposal(n, "tune", made.ids["base"], Basis(champion=n - 6, archive=0)) for n in (6, 7)]
    made.write()
    found = answer(capsys, made, "status")
    assert (found["in_flight"], found["stale"]) == (2, 1)


def test_lower_is_better_holds_for_every_answer(capsys: Capture, tmp_path: Path) -> None:
    made = handmade(tmp_path, direction="minimize")
    made.add("c1", 0.5)
    made.crown("c1", "base")
    made.add("c2", 9.0)
    made.write()
    assert answer(capsys, made, "status")["highest"]["candidate"] == made.ids["c1"]
    edges = answer(capsys, made, "lineage")["edges"]
    assert [(edge["child"], edge["gain"]) for edge in edges] == [
        (made.ids["c1"], 0.5),
        (made.ids["c2"], -8.0),
    ]
    assert [e["score"] for e in answer(capsys, made, "archive")["elites"]] == [1.0, 0.5, 9.0]


def test_best_is_the_champion_and_names_a_higher_raw_score_apart(capsys: Capture, made: Handmade) -> None:
    found = answer(capsys, made, "best")
    assert (found["candidate"], found["score"], found["champion"]) == (made.ids["c1"], 3.0, True)
    assert found["highest"]["candidate"] == made.ids["c2"]
    assert "not promoted" in evolve(capsys, "-C", made.root, "best").out


def test_show_tells_all_about_a_candidate(capsys: Capture, made: Handmade) -> None:
    found = answer(capsys, made, "show", "champion")
    assert (found["commit"], found["operator"]) == (made.commits["c1"], "tune")
    assert found["parents"] == [made.ids["base"]]
    assert found["cases"] == {"a": {"score": 3.0, "feedback": "near"}}
    assert (found["metrics"], found["feedback"]) == ({"ms": 5.0}, "go on")
    assert found["measures"] == {"lines": 1.0, "distance": 1.0}
    assert [(e["promoted"], e["numbers"]) for e in found["evidence"]] == [(True, {"gain": 1.0})]
    assert [(p["proposal"], p["outcome"]) for p in found["proposals"]] == [(1, "candidate"), (5, "duplicate")]
    assert answer(capsys, made, "show", made.ids["c2"])["inspirations"] == [made.ids["c1"]]
    assert answer(capsys, made, "show", made.ids["c3"])["reason"] == "it crashed"


def test_a_score_is_the_mean_of_all_search_evaluations(capsys: Capture, made: Handmade) -> None:
    made.judge("c1", 5.0, purpose="confirm", cases=(CaseScore("a", 5.0),))
    made.judge("c1", 100.0, split="holdout", cases=(CaseScore("secret", 1.0),), counted=False)
    made.write()
    found = answer(capsys, made, "show", "champion")
    assert (found["score"], found["evaluations"]) == (4.0, 3)
    assert list(found["cases"]) == ["a"]
    assert found["cases"]["a"]["score"] == 4.0
    status = answer(capsys, made, "status")
    assert (status["evaluations"], status["runs"], status["best_score"]) == (6, 7, 4.0)


@pytest.mark.parametrize("word", ["base", "best", "champion"])
def test_words_stand_for_candidates(capsys: Capture, made: Handmade, word: str) -> None:
    name = "base" if word == "base" else "c1"
    assert answer(capsys, made, "show", word)["candidate"] == made.ids[name]


@pytest.mark.parametrize("kind", ["ids", "commits"])
def test_ids_and_commits_may_be_abbreviated_in_either_case(
    capsys: Capture, made: Handmade, kind: str
) -> None:
    full = getattr(made, kind)["c2"]
    for word in (full, full[:12], full[:12].upper()):
        assert answer(capsys, made, "show", word)["candidate"] == made.ids["c2"]


def test_an_ambiguous_id_lists_what_it_fits(capsys: Capture, tmp_path: Path) -> None:
    made = handmade(tmp_path)
    for number in range(1, 20):
        made.add(f"n{number}", float(number))
    made.write()
    digits = [id[0] for id in (*made.ids.values(), *made.commits.values())]
    digit = max(digits, key=digits.count)
    ran = evolve(capsys, "-C", made.root, "show", digit)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    fits = [name for name in made.ids if digit in (made.ids[name][0], made.commits[name][0])]
    assert "ambiguous" in ran.err
    assert sum(made.ids[name][:12] in ran.err for name in fits) == min(len(fits), 5)


@pytest.mark.parametrize(("word", "code"), [("fffffffffff0", 1), ("nonsense", 2), ("%", 2), ("", 2)])
def test_an_unknown_id_is_one_clear_line(capsys: Capture, made: Handmade, word: str, code: int) -> None:
    ran = evolve(capsys, "-C", made.root, "show", word)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)


def test_evaluations_can_be_asked_by_candidate_and_cut(capsys: Capture, made: Handmade) -> None:
    assert [row["id"] for row in answer(capsys, made, "evaluations")["evaluations"]] == [1, 2, 3, 4, 5]
    last = answer(capsys, made, "evaluations", "--limit", "2")
    assert ([row["id"] for row in last["evaluations"]], last["total"]) == ([4, 5], 5)
    one = answer(capsys, made, "evaluations", "--candidate", made.ids["c3"][:12])["evaluations"]
    assert [(row["verdict"], row["score"], row["reason"]) for row in one] == [("failed", None, "it crashed")]


def test_lineage_of_one_candidate_is_its_ancestry_with_what_inspired_it(
    capsys: Capture, made: Handmade
) -> None:
    found = answer(capsys, made, "lineage", made.ids["c4"])
    ids = made.ids
    assert [node["candidate"] for node in found["nodes"]] == [
        ids[name] for name in ("base", "c1", "c2", "c4")
    ]
    assert [(e["parent"], e["child"], e["kind"], e["gain"], e["proposal"]) for e in found["edges"]] == [
        (ids["base"], ids["c1"], "parent", 2.0, 1),
        (ids["base"], ids["c2"], "parent", 3.0, 2),
        (ids["c1"], ids["c2"], "inspiration", 1.0, 2),
        (ids["c1"], ids["c4"], "parent", -1.0, 4),
        (ids["c2"], ids["c4"], "crossover", -2.0, 4),
    ]


def test_lineage_of_all_keeps_the_edges_of_duplicates(capsys: Capture, made: Handmade) -> None:
    edges = answer(capsys, made, "lineage")["edges"]
    again = [(edge["parent"], edge["child"]) for edge in edges if edge["kind"] == "duplicate"]
    assert again == [(made.ids["c2"], made.ids["c1"])]


def test_champions_come_with_their_evidence(capsys: Capture, made: Handmade) -> None:
    found = answer(capsys, made, "champions")
    assert [(one["number"], one["candidate"]) for one in found["champions"]] == [
        (0, made.ids["base"]),
        (1, made.ids["c1"]),
    ]
    assert found["champions"][0]["evidence"] is None
    assert found["champions"][1]["evidence"]["reason"] == "strictly better"


def test_the_newest_campaign_is_the_one_unless_named(capsys: Capture, made: Handmade, tmp_path: Path) -> None:
    other = handmade(tmp_path, name="other", created=2.0)
    assert answer(capsys, other, "status")["campaign"] == "other"
    assert answer(capsys, other, "status", "--campaign", "toy")["campaign"] == "toy"
    found = answer(capsys, other, "list")["campaigns"]
    assert [(one["campaign"], one["best_score"]) for one in found] == [("other", 1.0), ("toy", 3.0)]


def test_a_repository_without_campaigns_lists_none(capsys: Capture, made: Handmade, tmp_path: Path) -> None:
    ran = evolve(capsys, "-C", made.root, "list", "--home", tmp_path / "elsewhere")
    assert (ran.code, ran.err) == (0, "")
    assert "no campaigns yet" in ran.out


COMMANDS = [
    ["list"],
    ["status"],
    ["best"],
    ["show", "base"],
    ["lineage"],
    ["lineage", "best"],
    ["lineage", "--all"],
    ["archive"],
    ["champions"],
    ["evaluations"],
    ["costs"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_view_fits_80_columns_without_colour(
    capsys: Capture, made: Handmade, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    made.add("long", 3.5, parent="c1", summary="a summary that goes on " * 20, feedback="words " * 100)
    made.write()
    ran = evolve(capsys, "-C", made.root, *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip()
    assert "\x1b" not in ran.out
    assert max(len(row) for row in ran.out.splitlines()) <= 80


HOSTILE = "\x1b]0;owned\x07\x1b[2J[bold red]x[/] \u202egnp\x9b31m\r:smile: \x00"


@pytest.mark.parametrize("arguments", [*COMMANDS, ["show", "hostile"]], ids=" ".join)
def test_text_of_candidates_is_shown_and_not_obeyed(
    capsys: Capture, tmp_path: Path, arguments: list[str]
) -> None:
    made = handmade(tmp_path, reason=HOSTILE)
    details = {"feedback": HOSTILE, "cases": (CaseScore(HOSTILE, 1.0, HOSTILE),), "metrics": {HOSTILE: 1.0}}
    made.add("hostile", 3.0, summary=HOSTILE, measures={HOSTILE: HOSTILE}, **details)
    made.add("failed", None, summary=HOSTILE, parent="hostile", verdict="failed", reason=HOSTILE)
    made.crown("hostile", "base", reason=HOSTILE)
    made.write()
    arguments = [made.ids.get(word, word) for word in arguments]
    out = evolve(capsys, "-C", made.root, *arguments).out
    assert out.strip()
    assert not [letter for letter in out if letter != "\n" and not letter.isprintable()]
    if arguments == ["show", made.ids["hostile"]]:
        assert "[bold red]x[/]" in out
        assert ":smile:" in out


def test_no_command_that_looks_writes_anything(capsys: Capture, made: Handmade) -> None:
    def state() -> dict[str, bytes]:
        files = [path for path in made.root.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
        return {str(path): path.read_bytes() for path in files}

    before = state()
    for arguments in (*COMMANDS, ["diff", "base", "best"]):
        assert evolve(capsys, "-C", made.root, *arguments).code == 0
    assert {path: data for path, data in state().items() if data} == {p: d for p, d in before.items() if d}
