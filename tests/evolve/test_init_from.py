"""`evolve init --from`: folders made for other systems become campaigns that check and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from handmade import evolve, git, make_repository

from evolve.config import load

Capture = pytest.CaptureFixture[str]
CASES = Path(__file__).parent.parent / "cases" / "foreign"

OPENEVOLVE = """\
max_iterations: 4        # few
random_seed: 7
llm: {primary_model: "some-model", temperature: 0.7}
prompt:
  system_message: |
    Make it larger.
    Use "#" only in comments.
database:
  feature_dimensions: [score, complexity, speed]
  feature_bins: 5
evaluator:
  timeout: 20
  cascade_thresholds:
    - 0.5
    - 0.75
  evaluator_args:
    size: 3
"""
SHINKA = """\
from shinka.launch import LocalJobConfig
from shinka.core import EvolutionConfig

MESSAGE = "Make it " "larger."
job = LocalJobConfig(eval_program_path="evaluate.py", time="00:01:30")
search = EvolutionConfig(task_sys_msg=MESSAGE, num_generations=4, llm_models=["some-model"])
"""
GEPA = """\
from gepa.optimize_anything import EngineConfig, GEPAConfig, optimize_anything
from judge import rows, score

SEED = "x = 3\\n"

if __name__ == "__main__":
    engine = GEPAConfig(engine=EngineConfig(max_metric_calls=4, capture_stdio=True))
    optimize_anything(seed_candidate=SEED, evaluator=score, dataset=rows, objective="x near 10", config=engine)
"""
GEPA_JUDGE = """\
import gepa.optimize_anything as oa

rows = [1, 2]


def score(candidate, example):
    space = {}
    exec(candidate, space)
    oa.log("x is", space["x"])
    return -abs(space["x"] - 10) * example
"""


def sources(system: str, case: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in (CASES / system / case).glob("*.py")}


def taken_over(root: Path, system: str, files: dict[str, str], capsys: Capture) -> tuple[Any, Any]:
    make_repository(root, files)
    ran = evolve(capsys, "init", "--from", system, root, "--json")
    assert (ran.code, ran.err) == (0, "")
    return load(root / "evolve.toml"), json.loads(ran.out)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "taken over")


def test_a_folder_of_openevolve(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    files = {**sources("openevolve", "06-all-three-stages"), "config.yaml": OPENEVOLVE}
    config, said = taken_over(root, "openevolve", files, capsys)
    judge, table = config.evaluator, config.evaluator.openevolve
    assert (judge.contract, judge.path, judge.timeout) == ("openevolve", "evaluator.py", 65)
    assert (table.stage_timeout, table.thresholds, table.arguments) == (20, [0.5, 0.75], {"size": 3})
    assert table.features == ["score", "complexity", "speed"]
    assert [(axis.name, axis.bins) for axis in config.archive.measures] == [("lines", 5), ("speed", 5)]
    assert (config.budget.proposals, config.campaign.seed) == (4, 7)
    assert config.campaign.goal == 'Make it larger.\nUse "#" only in comments.'
    assert "EVOLVE-BLOCK" in said["chosen"]["artifact.include"]
    assert any("llm" in note for note in said["notes"])


def test_a_folder_of_shinkaevolve_checks_and_runs(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    files = {**sources("shinka", "02-helper"), "run_evo.py": SHINKA}
    config, _ = taken_over(root, "shinka", files, capsys)
    assert (config.evaluator.contract, config.evaluator.timeout) == ("shinka", 90)
    assert (config.campaign.goal, config.budget.proposals) == ("Make it larger.", 4)
    checked = json.loads(evolve(capsys, "-C", root, "check", "--json").out)
    assert (checked["verdict"], checked["score"]) == ("judged", 3)
    assert evolve(capsys, "-C", root, "run").code == 0
    assert json.loads(evolve(capsys, "-C", root, "status", "--json").out)["proposals"] == 4


def test_a_script_of_gepa_gives_its_seed_a_file(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    config, said = taken_over(root, "gepa", {"main.py": GEPA, "judge.py": GEPA_JUDGE}, capsys)
    assert (root / "candidate.py").read_text() == "x = 3\n"
    assert (config.evaluator.path, config.evaluator.gepa.dataset) == ("judge.py:score", "judge.py:rows")
    assert (config.evaluator.gepa.capture_stdio, config.budget.proposals) == (True, 4)
    assert any("candidate.py is not tracked" in note for note in said["notes"])
    commit(root)
    checked = json.loads(evolve(capsys, "-C", root, "check", "--json").out)
    assert (checked["verdict"], checked["score"]) == ("judged", -10.5)


def test_components_of_gepa_become_a_file_each(tmp_path: Path, capsys: Capture) -> None:
    script = GEPA.replace('SEED = "x = 3\\n"', 'SEED = {"system": "Be kind.", "a/b": "y"}')
    config, _ = taken_over(tmp_path / "r", "gepa", {"main.py": script, "judge.py": GEPA_JUDGE}, capsys)
    assert config.evaluator.gepa.components == {"system": "system.txt", "a/b": "a_b.txt"}
    assert config.artifact.include == ["system.txt", "a_b.txt"]
    assert (tmp_path / "r" / "a_b.txt").read_text() == "y"


@pytest.mark.parametrize(
    ("system", "missing"),
    [
        ("openevolve", "no evaluator.py"),
        ("shinka", "no evaluate.py"),
        ("gepa", "no call of optimize_anything"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    tmp_path: Path, capsys: Capture, system: str, missing: str
) -> None:
    make_repository(tmp_path / "r", {"a.py": "x = 1\n"})
    ran = evolve(capsys, "init", "--from", system, tmp_path / "r")
    assert (ran.code, missing in ran.err, ran.err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "r" / "evolve.toml").exists()


def test_a_candidate_that_is_more_than_one_file_has_to_be_named(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    toml = '[artifact]\ninclude = ["*.py"]\n[evaluator]\ncontract = "openevolve"\n'
    make_repository(root, {**sources("openevolve", "01-plain-dict"), "evolve.toml": toml})
    ran = evolve(capsys, "-C", root, "check")
    assert (ran.code, "evaluator.openevolve.program" in ran.err) == (2, True)


def test_an_evaluator_that_is_not_committed_is_named(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    toml = '[artifact]\ninclude = ["initial.py"]\n[evaluator]\ncontract = "shinka"\npath = "judge.py"\n'
    make_repository(root, {"initial.py": "x = 1\n", "evolve.toml": toml})
    ran = evolve(capsys, "-C", root, "check")
    assert (ran.code, "judge.py" in ran.err) == (2, True)
