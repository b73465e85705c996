"""Every case of tests/cases/campaign comes out as its file says."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from caserun import CASES, VERDICTS, Case, alive, await_evaluations, environment, fingerprint, git, lay_out

OWN_SCRIPT = {"misspelt-key", "killed-and-resumed", "same-seed-same-hashes"}
ORDINARY = sorted(p.name for p in CASES.iterdir() if p.is_dir() and p.name not in OWN_SCRIPT)


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_case_comes_out_as_stated(name: str, tmp_path: Path) -> None:
    case = lay_out(name, tmp_path)
    before = fingerprint(case.repo)
    ran = case.evolve("run")
    marks = len(list(case.marks.iterdir()))
    assert ran.code == case.expect.get("exit", 0), ran.err
    assert fingerprint(case.repo) == before
    assert marks == 0
    check(case, ran.err)


def check(case: Case, err: str) -> None:
    expect = case.expect
    evaluations = case.ask("evaluations")["evaluations"]
    search = [e for e in evaluations if e["split"] == "search"]
    best, status = case.ask("best"), case.ask("status")
    _check_scores(case, search, best)
    _check_counts(case, search)
    _check_trees(case, search)
    for word in expect.get("stderr_has", []):
        assert word in err
    if words := expect.get("says_any"):
        assert any(word in status["reason"] for word in words)
    if "best" in expect:
        assert expect["best"] in case.named(best["candidate"])
    if "best_any_of" in expect:
        assert set(expect["best_any_of"]) & case.named(best["candidate"])
    if "best_score" in expect:
        assert best["score"] == status["best_score"] == expect["best_score"]
    if "champions" in expect:
        found = [c["candidate"] for c in case.ask("champions")["champions"]]
        assert found == [case.trees[n] for n in expect["champions"]]
    if "exported_tree_equals" in expect:
        assert case.evolve("export", "--branch", "exported").code == 0
        tree = git(case.repo, "rev-parse", "exported^{tree}").strip()
        assert tree == case.trees[expect["exported_tree_equals"]]
    assert not alive(str(case.repo))


def _check_scores(case: Case, search: list[dict[str, Any]], best: dict[str, Any]) -> None:
    expect = case.expect
    by_candidate = {e["candidate"]: e for e in search}
    for key in ("scores", "objective"):
        for name, score in expect.get(key, {}).items():
            assert by_candidate[case.trees[name]]["score"] == score
    for name, verdict in expect.get("verdicts", {}).items():
        assert VERDICTS[by_candidate[case.trees[name]]["verdict"]] == verdict
    for score in expect.get("score_never", []):
        assert all(e["score"] != score for e in search)
    held = {e["candidate"] for e in case.ask("archive")["elites"]}
    for name in expect.get("not_in_archive", []):
        assert case.trees[name] not in held
    assert expect.get("best_objective", best["score"]) == best["score"]


def _check_counts(case: Case, search: list[dict[str, Any]]) -> None:
    expect = case.expect
    of_base = [e for e in search if e["candidate"] == case.trees["base"]]
    others = [e for e in search if e["candidate"] != case.trees["base"]]
    assert len(of_base) == expect.get("evaluations_of_base", len(of_base))
    assert expect.get("evaluations_of_proposals_min", 0) <= len(others)
    assert len(others) <= expect.get("evaluations_of_proposals_max", len(others))
    assert len(others) == expect.get("evaluations_of_proposals", len(others))
    assert len(search) == expect.get("evaluations_in_all", len(search))
    assert sum(e["attempts"] for e in search) <= expect.get("started_max", 10**6)
    if "evaluated_twice" in expect:
        assert len({e["candidate"] for e in search}) == len(search)
    for name, least in expect.get("starts_min", {}).items():
        attempts = sum(e["attempts"] for e in others if e["candidate"] == case.trees[name])
        assert least <= attempts <= expect["starts_max"][name]
    for verdict, number in expect.get("counts", {}).items():
        assert sum(VERDICTS[e["verdict"]] == verdict for e in search) == number


def _check_trees(case: Case, search: list[dict[str, Any]]) -> None:
    expect = case.expect
    store = Path(case.ask("status")["home"]) / "store.git"
    nodes = {n["candidate"]: n for n in case.ask("lineage")["nodes"]}
    for group in expect.get("same_candidate", []):
        assert len({case.trees[name] for name in group}) == 1
    if "candidates_besides_base" in expect:
        assert len(nodes) == expect["candidates_besides_base"] + 1
    for name, paths in expect.get("changed", {}).items():
        assert case.ask("show", case.trees[name])["changed"] == paths
    for path, mode in expect.get("modes_in_commit", {}).items():
        commit = nodes[case.trees["c1"]]["commit"]
        assert git(store, "ls-tree", commit, path).split()[0] == mode
    for name in expect.get("files_absent_in_candidates", []):
        for node in nodes.values():
            assert name not in git(store, "ls-tree", "-r", "--name-only", node["commit"]).split("\n")
    if "diff_shows" in expect:
        shown = case.evolve("diff", "base", "best").out
        assert all(text in shown for text in expect["diff_shows"])


def test_a_misspelt_key_is_one_line_before_anything_starts(tmp_path: Path) -> None:
    case = lay_out("misspelt-key", tmp_path)
    for command in ("run", "check"):
        ran = case.evolve(command)
        assert ran.code in case.expect["exit_any_of"]
        assert all(word in ran.err for word in case.expect["stderr_has"])
        assert "Traceback" not in ran.err
        assert len(ran.err.strip().splitlines()) == 1
    assert not (case.repo / ".git" / "evolve").exists()


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    case = lay_out("killed-and-resumed", tmp_path)
    process = subprocess.Popen([sys.executable, "-m", "evolve", "run"], cwd=case.repo, env=environment())
    await_evaluations(case.repo, case.given["script"]["kill_after_recorded"] + 1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    noted = case.ask("evaluations")["evaluations"]
    assert case.ask("status")["state"] == "dead"
    assert case.evolve("resume").code == case.expect["exit_of_resume"]
    after = case.ask("evaluations")["evaluations"]
    assert [e for e in after if e["id"] in {n["id"] for n in noted}] == noted
    assert case.ask("status")["budget"]["evaluations"]["spent"] == len(after)
    check(case, "")


def test_the_same_seed_gives_the_same_hashes_however_the_run_was_cut(tmp_path: Path) -> None:
    case = lay_out("same-seed-same-hashes", tmp_path)
    found: dict[str, list[str]] = {}
    for run in case.given["script"]["runs"]:
        repo = tmp_path / run["name"]
        shutil.copytree(case.repo, repo)
        config = repo / "evolve.toml"
        config.write_text(re.sub(r"seed = \d+", f"seed = {run['seed']}", config.read_text()))
        if limit := run.get("stop_after"):
            process = subprocess.Popen(
                [sys.executable, "-m", "evolve", "run"],
                cwd=repo,
                env=environment(PYTHONHASHSEED=run["pythonhashseed"]),
            )
            await_evaluations(repo, limit)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        ran = case.evolve("run", repo=repo, PYTHONHASHSEED=run["pythonhashseed"])
        assert ran.code == case.expect["exit"], ran.err
        assert case.ask("status", repo=repo)["baseline_score"] == case.expect["base_score"]
        found[run["name"]] = sorted(n["commit"] for n in case.ask("lineage", repo=repo)["nodes"])
    assert len(found["A"]) > 3
    for one, other in case.expect["same_commits"]:
        assert found[one] == found[other]
    for one, other in case.expect["other_commits"]:
        assert found[one] != found[other]
