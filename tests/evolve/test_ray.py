"""A campaign on a real Ray cluster of two nodes, one of which is killed; only where Ray is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from targets import evolve

pytest.importorskip("ray")

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "ray_cluster.py"


def demonstration() -> Any:
    spec = importlib.util.spec_from_file_location("ray_cluster", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_cluster_that_cannot_be_reached_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    repo = demonstration()._repository(tmp_path / "target", 3, 0.0)
    done = evolve(repo, "run", RAY_ADDRESS="127.0.0.1:9")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert (
        "no Ray cluster can be reached at RAY_ADDRESS=127.0.0.1:9; start one with `ray start --head`" in last
    )


@pytest.mark.slow
def test_a_killed_node_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    program = demonstration()
    found = program.demonstrate(tmp_path, 24, 0.5)
    assert program.sound(found), found
    assert 0 < found["before"] < found["evaluations"] == 24
    assert found["verdicts"] == {"judged": 24}
