"""The evaluators that need no script: a pytest suite, and timing beside the base."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from evaluator_bench import Slot
from evaluators.isolated import Failed
from evaluators.pairs import compare

from evaluators.contract import Outcome
from evaluators.environment import SUPPLIED
from evaluators.preparation import listed
from evaluators.spec import Provided

SUITE = ("python", str(SUPPLIED / "evaluators" / "suite.py"))
PAIRS = ("python", str(SUPPLIED / "evaluators" / "pairs.py"))
TESTS = """
import pytest
import plan
def test_one(): assert plan.value(1) == 1
@pytest.mark.parametrize("x", [2, 3])
def test_more(x): assert plan.value(x) == x, "wrong"
@pytest.mark.skip
def test_skipped(): pass
"""
KNOWN = tuple(
    f"tests/test_plan.py::{name}" for name in ("test_one", "test_more[2]", "test_more[3]", "test_skipped")
)
HALF = "def value(x): return 1"


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    slot = Slot.make(tmp_path)
    for place in (slot.root, slot.checkout):
        (place / "tests").mkdir()
        (place / "tests" / "test_plan.py").write_text(TESTS)
        (place / "plan.py").write_text(HALF)
    return slot


def suite(slot: Slot, plan: str, **fields: object) -> Outcome:
    slot.write(plan=plan)
    fields.setdefault("known", KNOWN)
    return slot.evaluate(
        argv=(*SUITE, "tests/"), origin=lambda p: "editable" if p == "plan.py" else "protected", **fields
    )


def test_the_tests_of_the_base_are_listed(slot: Slot) -> None:
    spec = slot.spec(argv=(*SUITE, "tests/"))
    assert listed(spec, slot.root, (*SUITE, "--list", "tests/")) == KNOWN


def test_each_test_is_a_case_and_the_pass_rate_the_score(slot: Slot) -> None:
    outcome = suite(slot, HALF)
    assert {case.name: case.score for case in outcome.cases} == dict(zip(KNOWN, (1, 0, 0, 0), strict=True))
    assert outcome.score == 0.25 and outcome.metrics["failed"] == 2 and outcome.metrics["seconds"] > 0
    assert "wrong" in outcome.feedback and "test_more[2]" in outcome.feedback
    assert suite(slot, "def value(x): return x").score == 0.75


@pytest.mark.parametrize(
    "plan",
    [
        "import pytest\npytest.skip('all of it', allow_module_level=True)",
        "import pytest\ndef value(x):\n    if x > 1: pytest.xfail('later')\n    return 1",
        "import pytest\ndef value(x):\n    if x > 1: pytest.skip('later')\n    return 1",
        "import pytest\ndef value(x):\n    if x > 1: pytest.exit('later', 0)\n    return 1",
        "import os\ndef value(x):\n    if x > 1: os._exit(0)\n    return 1",
        "import sys\nsys.modules['test_plan'].test_more = lambda: None\n" + HALF,
        "import _pytest.runner as r\nr.pytest_runtest_call = lambda item: None\n" + HALF,
        "import gc\nfor o in gc.get_objects():\n"
        "    if type(o).__name__ == 'Recorder': o.pytest_runtest_logreport = lambda report: None\n" + HALF,
        "raise ImportError('gone')",
    ],
)
def test_no_candidate_passes_more_by_touching_the_suite(slot: Slot, plan: str) -> None:
    assert (suite(slot, plan).score or 0.0) <= 0.25


def benchmark(slot: Slot, plan: str, what: str = "bench.py:work", bench: str | None = None) -> Outcome:
    bench = bench or "import plan\ndef work(seed): return [plan.value(3) for _ in range(20)]"
    for place in (slot.root, slot.checkout):
        (place / "bench.py").write_text(bench)
    slot.write(plan=plan)
    return slot.evaluate(argv=(*PAIRS, ".base", what), provided=(Provided(".base", slot.root),), timeout=120)


@pytest.mark.parametrize("what", ["bench.py:work", "python bench.py"])
def test_a_benchmark_compares_with_the_base(slot: Slot, what: str) -> None:
    slow = "def value(x):\n    for _ in range(20000): x += 0\n    return x\n"
    (slot.root / "plan.py").write_text(slow)
    bench = "import plan\ndef work(seed): return [plan.value(3) for _ in range(40)]\n"
    bench += "if __name__ == '__main__': print(work(0))"
    outcome = benchmark(slot, "def value(x): return x", what, bench)
    assert (outcome.score or 0) > 1 and "faster than the base" in outcome.feedback, outcome
    assert outcome.metrics["base_seconds"] > outcome.metrics["seconds"] > 0
    assert 0 <= outcome.metrics["busy"] <= 1 and outcome.metrics["pairs"] >= 7


def test_another_result_than_that_of_the_base_is_no_speed_up(slot: Slot) -> None:
    outcome = benchmark(slot, "def value(x): return 2")
    assert outcome.verdict == "failed" and "that of the base" in (outcome.reason or ""), outcome


def test_the_clock_of_a_benchmark_is_out_of_reach(slot: Slot) -> None:
    plan = "import time\ntime.perf_counter = time.monotonic = lambda: 0.0\n"
    plan += "def value(x):\n    for _ in range(2000): pass\n    return 1\n"
    assert (benchmark(slot, plan).score or 9) < 1


def test_a_candidate_that_leaves_a_benchmark_has_failed(slot: Slot) -> None:
    outcome = benchmark(slot, "import os\ndef value(x): os._exit(0)")
    assert outcome.verdict == "failed" and "before it returned" in (outcome.reason or "")
    assert issubclass(Failed, Exception)


def timer(seconds: float, processor: float | None, noise: float = 1.0, idle: bool = False) -> object:
    added = itertools.cycle([0.0, 0.3, 0.0, 0.02, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.1])

    def take(times: int) -> tuple[float, float | None, float]:
        own = None if processor is None else times * processor
        return times * (seconds + noise * next(added)), own, 20 if idle else 1

    return take


def test_pairs_give_the_ratio_that_is_there_whatever_the_machine_adds() -> None:
    assert compare(timer(1.03, None), timer(1.0, None))["ratio"] == pytest.approx(1.03)  # type: ignore[arg-type]
    found = compare(timer(1.5, 1.03), timer(1.5, 1.0))  # type: ignore[arg-type]
    assert found["ratio"] == pytest.approx(1.03) and found["processor_time"]


def test_a_candidate_that_only_waits_is_not_fast() -> None:
    found = compare(timer(1.0, 1.0), timer(1.0, 0.1, idle=True))  # type: ignore[arg-type]
    assert found["ratio"] == pytest.approx(1.0, abs=0.2) and not found["processor_time"]


def test_work_that_waits_is_compared_by_the_time_that_passes() -> None:
    found = compare(timer(1.03, 0.1, idle=True), timer(1.0, 0.1, idle=True))  # type: ignore[arg-type]
    assert found["ratio"] == pytest.approx(1.03) and not found["processor_time"]


def test_work_done_by_children_counts(slot: Slot) -> None:
    busy = "sum(k for k in range(150000))"
    (slot.root / "plan.py").write_text(f"def value(x): return {busy}")
    plan = f"import os\ndef value(x):\n    if os.fork() == 0:\n        {busy}\n        os._exit(0)\n"
    plan += "    os.wait()\n    return 11249925000\n"
    outcome = benchmark(slot, plan, bench="import plan\ndef work(seed): return plan.value(3)")
    assert outcome.metrics["processor_time"] == 0.0, outcome
