"""The examples: what their judges refuse, what their baselines score, that their configuration is sound."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve import config

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CIRCLES = EXAMPLES / "circle_packing"
BINS = EXAMPLES / "bin_packing"
NEIGHBOURS = ("evaluate", "refine", "instances", "packing", "heuristic", "restarts")


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def load(path: Path) -> ModuleType:
    """Import a file the way the examples expect it: with its own folder on the path."""
    for name in NEIGHBOURS:
        sys.modules.pop(name, None)
    before = list(sys.path)
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(f"example_{uuid.uuid4().hex}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path[:] = before
        for name in NEIGHBOURS:
            sys.modules.pop(name, None)


@pytest.fixture
def path_restored() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before
    for name in NEIGHBOURS:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def packing_judge() -> ModuleType:
    return load(CIRCLES / "evaluate.py")


@pytest.fixture(scope="module")
def bin_judge() -> ModuleType:
    return load(BINS / "evaluate.py")


def grid(count: int = 26, radius: float = 0.08) -> list[tuple[float, float, float]]:
    """Circles with room around them."""
    return [((i % 6 + 0.5) / 6, (i // 6 + 0.5) / 6, radius) for i in range(count)]


# Circle packing


def test_a_plain_grid_is_valid_and_scores_the_sum_of_its_radii(packing_judge: ModuleType) -> None:
    assert packing_judge.judge(grid())["score"] == pytest.approx(26 * 0.08)


@pytest.mark.parametrize(
    ("circles", "reason"),
    [
        (grid(25), "expected 26 circles, got 25"),
        (grid(27), "expected 26 circles, got 27"),
        ([], "expected 26 circles, got 0"),
        ([(0.1, 0.1)] * 26, "each circle is"),
        ([*grid(25), (math.nan, 0.9, 0.01)], "finite"),
        ([*grid(25), (0.9, 0.9, math.nan)], "finite"),
        ([*grid(25), (0.9, 0.9, math.inf)], "finite"),
        ([*grid(25), (0.9, 0.9, -0.01)], "circle 25 has a negative radius"),
        ([*grid(25), (*grid(1)[0][:2], 0.01)], "circles 0 and 25 overlap by"),
        ([*grid(25), (0.95, 0.95, 0.0501)], "circle 25 is outside by"),
        ([*grid(25), (1.5, 0.9, 0.0)], "circle 25 is outside by"),
        ([*grid(25), (-0.001, 0.9, 0.0)], "circle 25 is outside by"),
    ],
)
def test_what_is_no_packing_is_refused_with_the_reason(
    packing_judge: ModuleType, circles: list[Any], reason: str
) -> None:
    with pytest.raises(packing_judge.InvalidPacking, match=reason):
        packing_judge.judge(circles)


@pytest.mark.parametrize("result", [None, 3, [None] * 26, [("a", "b", "c")] * 26])
def test_what_holds_no_numbers_is_refused(packing_judge: ModuleType, result: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        packing_judge.judge(result)


def test_the_tolerance_wins_nothing(packing_judge: ModuleType) -> None:
    touching = 1 / 12
    exact = packing_judge.judge(grid(radius=touching))["score"]
    swollen = packing_judge.judge(grid(radius=touching + 0.4e-9))["score"]
    assert swollen <= exact
    with pytest.raises(packing_judge.InvalidPacking):
        packing_judge.judge(grid(radius=touching + 1e-8))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.3)), min_size=26, max_size=26))
def test_a_scored_packing_is_valid_without_any_tolerance(
    packing_judge: ModuleType, circles: list[tuple[float, float, float]]
) -> None:
    try:
        score = packing_judge.judge(circles)["score"]
    except packing_judge.InvalidPacking:
        return
    assert 0 <= score <= sum(r for _, _, r in circles)
    for i, (x, y, r) in enumerate(circles):
        assert min(x, 1 - x, y, 1 - y) - r >= -1e-9
        for u, v, s in circles[:i]:
            assert math.hypot(x - u, y - v) - r - s >= -1e-9


def test_the_packing_program_starts_plain(packing_judge: ModuleType, path_restored: None) -> None:
    result = packing_judge.evaluate(CIRCLES)
    assert result["score"] == pytest.approx(2.4666, abs=2e-3)
    assert 2.3 < result["score"] <= 2.50
    assert "Sum of radii 2.46" in result["feedback"]


def test_refining_never_makes_a_packing_worse_and_ends() -> None:
    refine = load(CIRCLES / "refine.py").refine
    layout = [(0.1 + 0.16 * (i % 6), 0.1 + 0.2 * (i // 6)) for i in range(26)]
    totals = [sum(r for _, _, r in refine(layout, rounds, 0.02)) for rounds in (0, 1, 2, 4, 10**9)]
    assert totals[0] == 0
    assert totals == sorted(totals)
    assert totals[-1] > 2.5


@pytest.mark.parametrize(
    "centres", [[(0.5, 0.5)] * 26, [(-5.0, 9.0)] * 26, [(0.5, i / 25) for i in range(26)]]
)
def test_refining_gives_a_valid_packing_from_any_start(
    packing_judge: ModuleType, centres: list[tuple[float, float]]
) -> None:
    refine = load(CIRCLES / "refine.py").refine
    for reach in (0.0, 0.03, 50.0, -1.0):
        assert packing_judge.judge(refine(centres, 6, reach))["score"] >= 0


def test_random_restarts_report_a_valid_score_for_the_processor_time() -> None:
    command = [sys.executable, "restarts.py", "--cpu-seconds", "0.3", "--seed", "3", "--json"]
    done = subprocess.run(command, cwd=CIRCLES, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert 2.4 < found["score"] < 2.64
    assert found["starts"] >= 1 and found["cpu_seconds"] >= 0.3 and found["seed"] == 3


# Bin packing


def judge_heuristic(
    judge: ModuleType, tmp_path: Path, text: str, request: dict[str, Any] | None = None
) -> Any:
    folder = tmp_path / uuid.uuid4().hex
    shutil.copytree(BINS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "heuristic.py").write_text(text)
    return judge.evaluate(folder, request)


BEST_FIT = "def priority(item, room, capacity):\n    return item - room\n"


def test_the_bin_packing_program_starts_as_best_fit(bin_judge: ModuleType, tmp_path: Path) -> None:
    baseline = bin_judge.evaluate(BINS)
    assert baseline["metrics"]["excess"] == pytest.approx(4.713, abs=5e-3)
    assert baseline == judge_heuristic(bin_judge, tmp_path, BEST_FIT)


def test_the_holdout_holds_other_and_longer_instances(bin_judge: ModuleType) -> None:
    search = json.loads((BINS / "instances.json").read_text())
    holdout = json.loads((BINS / "holdout" / "instances.json").read_text())
    assert not {(e["kind"], e["seed"]) for e in search} & {(e["kind"], e["seed"]) for e in holdout}
    assert min(e["items"] for e in holdout) >= max(e["items"] for e in search)
    result = bin_judge.evaluate(BINS, {"split": "holdout", "cases": None})
    assert sorted(result["cases"]) == sorted(e["name"] for e in holdout)
    assert result["metrics"]["excess"] == pytest.approx(4.396, abs=5e-3)


def test_a_search_does_without_the_holdout(bin_judge: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(BINS, tmp_path / "bins", ignore=shutil.ignore_patterns("__pycache__", "holdout"))
    assert len(bin_judge.evaluate(tmp_path / "bins", {"split": "search"})["cases"]) == 8


def test_only_the_cases_asked_for_are_judged(bin_judge: ModuleType) -> None:
    request = {"split": "search", "cases": ["uniform-1000-2", "weibull-2000-1"]}
    result = bin_judge.evaluate(BINS, request)
    assert list(result["cases"]) == request["cases"]


def test_other_constants_beat_best_fit_on_the_holdout_too(bin_judge: ModuleType, tmp_path: Path) -> None:
    text = (BINS / "heuristic.py").read_text().replace("SCRAP = 0.0", "SCRAP = 0.5")
    for split, bound in (("search", 4.713), ("holdout", 4.396)):
        better = judge_heuristic(bin_judge, tmp_path, text, {"split": split})
        assert better["metrics"]["excess"] < bound - 1


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "None", "'high'", "1j", "[1]"])
def test_a_priority_that_is_no_finite_number_is_refused(
    bin_judge: ModuleType, tmp_path: Path, value: str
) -> None:
    with pytest.raises(bin_judge.InvalidHeuristic, match="not a finite number"):
        judge_heuristic(bin_judge, tmp_path, f"def priority(item, room, capacity):\n    return {value}\n")


@given(
    st.sampled_from(["weibull", "uniform"]), st.integers(1, 300), st.integers(0, 10**6), st.integers(-3, 3)
)
def test_every_packing_is_legal_whatever_the_priority(
    bin_judge: ModuleType, kind: str, items: int, seed: int, slope: int
) -> None:
    instance = bin_judge.generate(kind, items, seed)
    rooms = bin_judge.pack(instance, lambda item, room, capacity: slope * room + (item * room) % 7)
    assert all(0 <= room < instance.capacity for room in rooms)
    assert sum(instance.capacity - room for room in rooms) == sum(instance.items)
    assert instance.lower_bound <= len(rooms) <= items


def test_equal_priorities_go_to_the_fullest_bin(bin_judge: ModuleType) -> None:
    instance = bin_judge.generate("uniform", 200, 1)
    indifferent = bin_judge.pack(instance, lambda item, room, capacity: 0)
    best_fit = bin_judge.pack(instance, lambda item, room, capacity: item - room)
    assert indifferent == best_fit


def test_instances_are_the_same_each_time_and_in_range(bin_judge: ModuleType) -> None:
    weibull = bin_judge.generate("weibull", 1000, 5)
    uniform = bin_judge.generate("uniform", 1000, 5)
    assert weibull == bin_judge.generate("weibull", 1000, 5)
    assert weibull.items != bin_judge.generate("weibull", 1000, 6).items
    assert all(1 <= item <= 100 for item in weibull.items)
    assert 38 < sum(weibull.items) / 1000 < 43
    assert set(uniform.items) <= set(range(20, 101))


# Both


@pytest.mark.parametrize("folder", [CIRCLES, BINS], ids=["circle_packing", "bin_packing"])
def test_the_judge_of_an_example_can_be_run_by_hand(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "evaluate.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert math.isfinite(result["score"])


@pytest.mark.parametrize("folder", [CIRCLES, BINS], ids=["circle_packing", "bin_packing"])
def test_the_configuration_names_what_is_there(folder: Path) -> None:
    loaded = config.load(folder / config.FILE_NAME)
    judge = load(folder / str(loaded.evaluator.function).split(":")[0])
    assert all((folder / path).is_file() for path in loaded.artifact.include)
    before = list(sys.path)
    result = judge.evaluate(folder)
    sys.path[:] = before
    assert loaded.evaluator.objective in {"score", *result["metrics"]}
    for measure in loaded.archive.measures:
        value = result["measures"][measure.name]
        assert measure.low is not None and measure.high is not None
        assert measure.low <= value <= measure.high
