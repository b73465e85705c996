"""`pytest = …` and `benchmark = …` in evolve.toml: what is protected, and a campaign from end to end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import evolve
from archives.errors import ConfigError
from evolve import readymade
from evolve.config import parse
from evolve.territory import editable

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]


def config(**evaluator: object) -> object:
    return parse({"artifact": {"include": ["**/*.py", "*.toml"]}, "evaluator": evaluator})


@pytest.mark.parametrize(
    ("path", "free"),
    [
        ("src/plan.py", True),
        ("tests/test_plan.py", False),
        ("tests/helper.py", False),
        ("tests/new/conftest.py", False),
        ("conftest.py", False),
        ("src/conftest.py", False),
        ("src/test_plan.py", False),
        ("pyproject.toml", False),
        ("src/sitecustomize.py", False),
        ("src/x.egg-info/entry.py", False),
    ],
)
def test_nothing_that_could_change_what_comes_of_a_suite_may_be_touched(path: str, free: bool) -> None:
    may_change = editable(config(pytest="tests/ -m 'not slow'"), ["tests/test_plan.py"])  # type: ignore[arg-type]
    assert may_change(path) is free


def test_the_work_of_a_benchmark_is_protected() -> None:
    for what in ("bench.py:work", "python bench.py"):
        may_change = editable(config(benchmark=what), ["bench.py", "plan.py"])  # type: ignore[arg-type]
        assert may_change("plan.py") and not may_change("bench.py")


def test_quotes_that_do_not_match_are_named() -> None:
    with pytest.raises(ConfigError, match=r"evaluator\.pytest"):
        readymade.words(config(pytest="tests/ -m 'slow").evaluator)  # type: ignore[attr-defined]


def test_two_forms_are_one_too_many() -> None:
    with pytest.raises(ConfigError, match="exactly one"):
        config(pytest="tests/", command="python x.py")


def test_a_campaign_on_a_suite_finds_the_version_that_passes(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_plan.py").write_text(
        "import plan\ndef test_a(): assert plan.X > 0\ndef test_b(): assert plan.X == 7\n"
    )
    (tmp_path / "plan.py").write_text("X = 1\n")
    (tmp_path / "proposals").mkdir()
    (tmp_path / "proposals" / "001-seven.patch").write_text(
        "--- a/plan.py\n+++ b/plan.py\n@@ -1 +1 @@\n-X = 1\n+X = 7\n"
    )
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "base"]):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    table = {
        "artifact": {"include": ["plan.py"]},
        "evaluator": {"pytest": "tests/"},
        "operators": {"patches": {"folder": "proposals"}},
        "promotion": {"rule": "strict"},
    }
    campaign = evolve.create(tmp_path, table)
    campaign.run_sync()
    with campaign.reader() as reader:
        scores = [evaluation.score for evaluation in reader.evaluations(split="search")]
    assert (min(scores), max(scores)) == (0.5, 1.0)
