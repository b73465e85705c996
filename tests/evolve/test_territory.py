from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archives.errors import ConfigError
from evolve.config import Config, parse
from evolve.territory import editable, survey

PATHS = ["a.py", "evaluate.py", "evolve.toml", "holdout/h.py", "src/b.py", "tools/judge.sh"]


def config(include: list[str], **evaluator: Any) -> Config:
    table = evaluator or {"command": "python evaluate.py"}
    return parse({"artifact": {"include": include}, "evaluator": table, "holdout": {"files": ["holdout/**"]}})


def test_a_wide_glob_never_covers_the_judge_the_holdout_or_the_configuration() -> None:
    may_change = editable(config(["**"]), PATHS)
    assert [p for p in PATHS if may_change(p)] == ["a.py", "src/b.py", "tools/judge.sh"]


def test_a_function_and_a_script_with_arguments_are_protected_too() -> None:
    assert not editable(config(["**"], function="src/b.py:judge"), PATHS)("src/b.py")
    assert not editable(config(["**"], command="sh ./tools/judge.sh --fast"), PATHS)("tools/judge.sh")


def test_a_folder_of_a_larger_repository_is_all_there_is() -> None:
    deep = [f"deep/{p}" for p in PATHS]
    may_change = editable(config(["*.py"]), [*deep, "a.py"], "deep/")
    assert [p for p in [*deep, "a.py"] if may_change(p)] == ["deep/a.py"]


def test_globs_that_match_nothing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.py matches no file"):
        survey(config(["nothing.py"]), PATHS, "", tmp_path, "f" * 40)


def test_an_artifact_that_is_the_judge_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evaluate\.py belongs to the evaluator"):
        survey(config(["evaluate.py"]), PATHS, "", tmp_path, "f" * 40)


def test_an_evaluator_that_is_not_committed_is_named(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("print(1)")
    with pytest.raises(ConfigError, match=r"score\.py is not in commit ffffffffff.*git add score\.py"):
        survey(config(["a.py"], command="python score.py"), PATHS, "", tmp_path, "f" * 40)


def test_what_is_nowhere_is_not_told_to_be_added(tmp_path: Path) -> None:
    for given in ({"function": "gone.py:judge"}, {"pytest": "gone -q"}):
        with pytest.raises(ConfigError, match=r"gone.* nor is it in .*correct the name") as caught:
            survey(config(["a.py"], **given), PATHS, "", tmp_path, "f" * 40)
        assert "git add" not in str(caught.value)


def test_the_value_of_an_option_is_no_part_of_the_suite(tmp_path: Path) -> None:
    survey(config(["a.py"], pytest="-k gone"), PATHS, "", tmp_path, "f" * 40)
