"""The simulated model of the comparison favours no system: what it answers depends on the parent program alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
TASKS = ("packing", "numeric", "structure", "twofiles")


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    monkeypatch.syspath_prepend(PEERS)
    monkeypatch.syspath_prepend(PEERS / "tasks")
    yield importlib.import_module
    for name in ("parent_model", "programs", *TASKS):
        sys.modules.pop(name, None)


def _text_of(message: dict[str, str]) -> str:
    return message["content"]


def _reply(model: Any, system: str, user: str, name: str = "fake") -> tuple[str, str]:
    turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return model.answer(turns, _text_of, name)


@pytest.mark.parametrize("task", TASKS)
def test_every_system_gets_the_same_child_of_the_same_parent(task: str, peers: Callable[[str], Any]) -> None:
    programs, made = peers("programs"), peers("parent_model").Model
    start = peers(task).PARTS
    other = programs.one_file({name: text + "# another\n" for name, text in start.items()})
    whole = programs.one_file(start)
    shown = "".join(f"{path}\n```\n{text}```\n" for path, text in programs.files(start).items())
    diffed = "".join(f"+{line}\n" for line in other.splitlines())
    theirs = f"# Evolution History\n```python\n{other}```\n# Current Program\n```python\n{whole}```\n# Task\nSEARCH/REPLACE"
    shinka = f"# Current program\n```python\n{whole}```\nThis one did well: score 3.\n"
    ours, openevolve, diff, full = (made(task, 7) for _ in range(4))
    for _ in range(12):
        kind, mine = _reply(ours, "Improve.", f"~~~\n{diffed}~~~\n{shown}", "fake-edit")
        assert _reply(openevolve, "Improve.", theirs)[0] == kind
        assert _reply(diff, "<NAME> <DIFF>", shinka)[0] == kind
        kind_too, rewritten = _reply(full, "<NAME> <CODE>", shinka)
        child = programs.parts_of(rewritten[rewritten.index("<CODE>") :])
        changed = [name for name in start if child[name] != start[name]]
        assert kind_too == kind
        assert changed
        assert all(programs.block(name, child[name]) in mine for name in changed)
        assert all(
            f"{name}.py\n<<<<<<< SEARCH\n{programs.block(name, start[name])}\n" in mine for name in changed
        )


@pytest.mark.parametrize("task", TASKS)
def test_a_task_scores_its_program_from_one_file_and_from_several(
    task: str, peers: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, module = peers("programs"), peers(task)
    monkeypatch.setenv("BENCH_TASK", task)
    sys.modules.pop("score", None)
    evaluate = peers("score").evaluate_code
    sys.modules.pop("score", None)
    start = module.score(module.PARTS)
    assert start < module.REFERENCE
    assert evaluate(programs.one_file(module.PARTS)) == (start, "")
    assert evaluate("\n".join(programs.files(module.PARTS).values())) == (start, "")
    assert evaluate("nothing")[0] == 0
    broken = {name: text + "(\n" for name, text in module.PARTS.items()}
    assert evaluate(programs.one_file(broken))[1].startswith("SyntaxError")
