from __future__ import annotations

from pathlib import Path

import pytest
from caserun import git

from archives.errors import EvolveError
from evolve.demo import random_restarts, set_up


def test_the_demo_sets_itself_up_in_a_folder_named_relative_to_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    set_up(Path("some demo"))
    assert git(tmp_path / "some demo", "status", "--porcelain") == ""
    assert "packing.py" in git(tmp_path / "some demo", "ls-files")
    before = git(tmp_path / "some demo", "rev-parse", "HEAD")
    set_up(Path("some demo"))
    assert git(tmp_path / "some demo", "rev-parse", "HEAD") == before


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(EvolveError, match="not empty"):
        set_up(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_random_restarts_spend_what_they_were_given(tmp_path: Path) -> None:
    set_up(tmp_path / "demo")
    found = random_restarts(tmp_path / "demo", 2.0, 2)
    assert 2.0 <= found.score <= 2.64
    assert found.starts >= 2
    assert 1.5 <= found.cpu_seconds <= 20
