"""A campaign on a real Ray cluster of two nodes, one of which is killed; only where Ray is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "ray_cluster.py"


def demonstration() -> Any:
    spec = importlib.util.spec_from_file_location("ray_cluster", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
