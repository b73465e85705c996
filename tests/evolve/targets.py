"""Small target repositories for whole campaigns."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caserun import environment, git

READ_VALUE = 'with open("value.txt", encoding="utf-8") as file:\n    print(float(file.read()))\n'
TOML = """[artifact]
include = ["value.txt"]
[evaluator]
command = "python evaluate.py"
[promotion]
rule = "strict"
[budget]
evaluations = {evaluations}
"""
"""A configuration for `value.txt`; `evaluations` is its budget."""


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    return folder


def patches(repo: Path, path: str, texts: Mapping[str, str]) -> Path:
    """A folder of patches beside the repository, each giving one file another text."""
    folder = repo.parent / f"{repo.name}-patches"
    folder.mkdir()
    before = (repo / path).read_text(encoding="utf-8")
    for number, (name, text) in enumerate(texts.items(), 1):
        (repo / path).write_text(text, encoding="utf-8")
        (folder / f"{number:03d}-{name}.patch").write_text(git(repo, "diff", "HEAD"), encoding="utf-8")
    (repo / path).write_text(before, encoding="utf-8")
    git(repo, "update-index", "-q", "--refresh")
    return folder


def config(**tables: Any) -> dict[str, Any]:
    """A configuration for `value.txt` judged by `evaluate.py`, with tables replaced or added."""
    return {
        "artifact": {"include": ["value.txt"]},
        "evaluator": {"command": "python evaluate.py"},
        "promotion": {"rule": "strict"},
        "workers": {"propose": 1, "evaluate": 1},
        **tables,
    }


def evolve(repo: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a repository."""
    import sys

    command = [sys.executable, "-m", "evolve", *arguments]
    return subprocess.run(
        command, cwd=repo, env=environment(**extra), capture_output=True, text=True, timeout=120
    )
