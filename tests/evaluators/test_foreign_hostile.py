"""What a candidate of another system's evaluator may not get away with here."""

from __future__ import annotations

from pathlib import Path

import pytest
from foreign_cases import judge

OPENEVOLVE = """
import importlib.util

def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"combined_score": 1.0}
"""
SHINKA = """
import argparse
from shinka.core import run_shinka_eval

parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
given = parser.parse_args()
run_shinka_eval(given.program_path, given.results_dir, "run", 1, lambda i: {}, lambda r: {"combined_score": r[0]})
"""
GEPA = "def evaluate(candidate):\n    exec(compile(candidate, 'candidate.txt', 'exec'))\n    return 1.0\n"
JUDGES = {
    "openevolve": ("evaluator.py", OPENEVOLVE, "initial_program.py"),
    "shinka": ("evaluate.py", SHINKA, "initial.py"),
    "gepa": ("evaluator.py", GEPA, "candidate.txt"),
}
LEAVES = "import os\nos._exit(0)\n"
PATCHES = "import time\ntime.time = lambda: 0.0\ndef run():\n    return 9.0\n"


def verdict(folder: Path, system: str, program: str) -> tuple[str, str]:
    file, text, candidate = JUDGES[system]
    (folder / file).write_text(text)
    (folder / candidate).write_text(program)
    (folder / "case.toml").write_text("timeout = 20\n")
    outcome = judge(system, folder).outcome
    return outcome.verdict, outcome.reason or ""


@pytest.mark.parametrize("system", JUDGES)
def test_a_candidate_that_leaves_with_success_has_no_score(tmp_path: Path, system: str) -> None:
    said, reason = verdict(tmp_path, system, LEAVES)
    assert (said, "tampering" in reason) == ("failed", True)


@pytest.mark.parametrize("system", ["openevolve", "shinka"])
def test_a_candidate_that_patches_the_clock_is_reported(tmp_path: Path, system: str) -> None:
    said, reason = verdict(tmp_path, system, PATCHES)
    assert (said, "time.time was replaced" in reason) == ("tampered", True)
    assert JUDGES[system][2] in reason


def test_results_that_are_a_link_are_not_followed(tmp_path: Path) -> None:
    link = 'import os, sys\nos.symlink("/etc/passwd", sys.argv[4] + "/correct.json")\nos._exit(0)\n'
    assert verdict(tmp_path, "shinka", link)[0] == "failed"


def test_an_artifact_of_many_megabytes_is_cut_and_costs_no_score(tmp_path: Path) -> None:
    text = 'def evaluate(path):\n    return {"combined_score": 0.5, "dump": "x" * 30_000_000}\n'
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "initial_program.py").write_text("")
    (tmp_path / "case.toml").write_text("")
    outcome = judge("openevolve", tmp_path).outcome
    assert (outcome.verdict, outcome.score) == ("judged", 0.5)
    assert "further characters left out" in outcome.artifacts["dump"]
