"""A judge that changes stops the campaign; once accepted, nothing that the old one said is believed unheard."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from caserun import fingerprint, git
from targets import evolve, patches, repository
from test_crash import Target, gone

JUDGE = """import json, rules
value = float(open("value.txt").read())
print(json.dumps({"score": rules.score(value), "measures": {"half": value / 2}}))
"""
TOML = """[campaign]
name = "killed"
[artifact]
include = ["value.txt"]
[evaluator]
command = "python evaluate.py"
data = ["table.csv"]
[workers]
propose = 1
evaluate = 1
[operators.patches]
folder = "{folder}"
[promotion]
rule = "strict"
[archive]
measures = [{{ name = "half", low = 0, high = 5, bins = 10 }}]
"""
PLAIN = "def score(value):\n    return value\n"
TURNED = "def score(value):\n    return -abs(value - 2.1)\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that has tried the values 1 to 4, of which more is better."""
    files = {"value.txt": "0\n", "evaluate.py": JUDGE, "rules.py": PLAIN, "README.md": "Nothing.\n"}
    folder = tmp_path_factory.mktemp("versions")
    repo = repository(folder / "target", {**files, ".gitignore": "table.csv\n"})
    (repo / "table.csv").write_text("1,2\n", encoding="utf-8")
    changes = patches(repo, "value.txt", {str(n): f"{n}\n" for n in range(1, 5)})
    (repo / "evolve.toml").write_text(TOML.format(folder=changes), encoding="utf-8")
    done = evolve(repo, "run")
    assert done.returncode == 0, done.stderr
    return repo


@pytest.fixture
def target(original: Path, tmp_path: Path) -> Target:
    """The same campaign, moved to a place of its own: where it is does not matter."""
    repo = tmp_path / "target"
    shutil.copytree(original, repo, symlinks=True)
    return Target(repo, fingerprint(repo))


def read(target: Target, *command: str) -> dict[str, Any]:
    done = evolve(target.repo, *command, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("name", ["rules.py", "table.csv"])
def test_a_changed_byte_of_the_judge_stops_the_campaign(target: Target, name: str) -> None:
    evolve(target.repo, "budget", "add", "proposals=10")
    place = target.repo / name
    before = place.read_bytes()
    place.write_bytes(before + b"\n")
    stopped = evolve(target.repo, "resume")
    assert stopped.returncode == 1
    assert stopped.stderr.splitlines()[-1].startswith(
        f"evolve: {name} has changed since it was first relied on"
    )
    assert "--accept-evaluator" in stopped.stderr
    place.write_bytes(before)
    assert evolve(target.repo, "resume").returncode == 0


def test_other_files_may_change(target: Target) -> None:
    (target.repo / "README.md").write_text("Something.\n", encoding="utf-8")
    (target.repo / "value.txt").write_text("77\n", encoding="utf-8")
    (target.repo / "evaluate.py").touch()
    assert evolve(target.repo, "resume").returncode == 0


def test_an_accepted_evaluator_judges_again_what_the_old_one_said(target: Target) -> None:
    assert read(target, "best")["score"] == 4.0
    (target.repo / "rules.py").write_text(TURNED, encoding="utf-8")
    done = evolve(target.repo, "resume", "--accept-evaluator")
    assert done.returncode == 0, done.stderr
    assert "evaluator version 2; 4 candidates are judged again" in done.stderr
    best = read(target, "best")
    assert best["score"] == pytest.approx(-0.1)
    assert git(target.home / "store.git", "show", f"{best['commit']}:rules.py") == PLAIN
    runs = read(target, "evaluations")["evaluations"]
    assert [run["score"] for run in runs if run["evaluator"] == 1] == [0.0, 1.0, 2.0, 3.0, 4.0]
    again = [run["score"] for run in runs if run["evaluator"] == 2]
    assert again[:2] == [pytest.approx(-2.1), pytest.approx(-1.9)], "the base, then the champion"
    assert len(again) == 5
    assert read(target, "status")["evaluator"] == 2
    evolve(target.repo, "resume", "--accept-evaluator")
    assert read(target, "status")["evaluator"] == 2
    assert len(read(target, "evaluations")["evaluations"]) == len(runs)


def test_a_champion_that_the_new_judge_fails_gives_way(target: Target) -> None:
    failing = PLAIN.replace("return value", "return {1: 0.5, 2: 0.25}.get(value) or 1 / (value == 0) - 1")
    (target.repo / "rules.py").write_text(failing, encoding="utf-8")
    assert evolve(target.repo, "resume", "--accept-evaluator").returncode == 0
    assert read(target, "best")["score"] == 0.5
    champions = read(target, "champions")["champions"]
    assert [one["evidence"]["rule"] for one in champions[-2:]] == ["renewal", "strict"]
    best = read(target, "best")["commit"]
    assert git(target.home / "store.git", "rev-parse", "champion").strip() == best


@pytest.mark.parametrize("point", ["evaluate.recorded:3", "challenge.decided"])
def test_killed_while_claims_are_judged_again(target: Target, point: str, tmp_path: Path) -> None:
    (target.repo / "rules.py").write_text(TURNED, encoding="utf-8")
    log = tmp_path / "fired"
    crash = {"EVOLVE_CRASH_AT": point, "EVOLVE_CRASH_LOG": str(log)}
    killed = evolve(target.repo, "resume", "--accept-evaluator", **crash)
    assert killed.returncode == -signal.SIGKILL
    assert gone(str(target.repo))
    before = target.acknowledged()
    done = evolve(target.repo, "resume")
    assert done.returncode == 0, done.stderr
    after = target.acknowledged()
    assert after[: len(before)] == before
    assert len(after) == 10
    assert read(target, "best")["score"] == pytest.approx(-0.1)
    assert gone(str(target.repo))


def test_a_changed_evaluator_table_needs_to_be_accepted(target: Target) -> None:
    path = target.repo / "evolve.toml"
    (target.repo / "other.py").write_text("print(-float(open('value.txt').read()))\n", encoding="utf-8")
    text = path.read_text(encoding="utf-8").replace("evaluate.py", "evaluate.py --strict")
    path.write_text(text, encoding="utf-8")
    refused = evolve(target.repo, "resume")
    assert refused.returncode == 2
    assert "evolve resume --accept-evaluator" in refused.stderr
    assert evolve(target.repo, "resume", "--accept-evaluator").returncode == 0
    assert read(target, "status")["evaluator"] == 2


def test_another_holdout_is_asked_about_the_champion(target: Target) -> None:
    path = target.repo / "evolve.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '[holdout]\nfiles = ["README.md"]\n', encoding="utf-8")
    assert evolve(target.repo, "resume").returncode == 0
    held = [run for run in read(target, "evaluations")["evaluations"] if run["split"] == "holdout"]
    assert len(held) == 2
    path.write_text(text + '[holdout]\nfiles = ["README.md", ".gitignore"]\n', encoding="utf-8")
    assert evolve(target.repo, "resume").returncode == 0
    held = [run for run in read(target, "evaluations")["evaluations"] if run["split"] == "holdout"]
    assert len(held) == 4
    path.write_text(text + '[holdout]\nfiles = ["value.txt"]\n', encoding="utf-8")
    assert evolve(target.repo, "resume").returncode == 2


def test_other_measures_are_taken_from_what_was_reported(target: Target) -> None:
    path = target.repo / "evolve.toml"
    text = path.read_text(encoding="utf-8").replace('name = "half", low = 0, high = 5', 'name = "lines"')
    path.write_text(text, encoding="utf-8")
    assert evolve(target.repo, "resume").returncode == 0
    assert read(target, "status")["elites"] == 1
    assert len(read(target, "evaluations")["evaluations"]) == 5


def test_a_candidate_is_judged_again_when_somebody_asks(target: Target) -> None:
    best = read(target, "best")["candidate"]
    assert "evolve resume" in read(target, "reevaluate", best[:12])["text"]
    assert evolve(target.repo, "resume").returncode == 0
    runs = [run for run in read(target, "evaluations")["evaluations"] if run["candidate"] == best]
    assert [(run["purpose"], run["seed"]) for run in runs] == [("search", 0), ("confirm", 2)]
    assert evolve(target.repo, "resume").returncode == 0
    assert len(read(target, "evaluations")["evaluations"]) == 6
