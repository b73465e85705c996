from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio
from evaluator_bench import REQUEST, Slot

from evaluators.contract import Outcome

OTHER_PYTHONS = [path for path in (Path("/usr/bin/python3"), Path("/usr/local/bin/python3")) if path.exists()]
WARM = pytest.mark.parametrize("warm", ["auto", True, False])


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot.make(tmp_path)


def judge(slot: Slot, body: str, times: int = 1, **fields: object) -> Outcome:
    slot.write(evaluate=body)
    return slot.evaluate(times=times, function="evaluate.py:evaluate", **fields)


@WARM
def test_a_returned_number_or_object_is_the_result(slot: Slot, warm: object) -> None:
    assert judge(slot, "def evaluate(folder, request): return 3", warm=warm).score == 3.0
    body = "import decimal\ndef evaluate(folder, request):\n    return {'score': 1, 'metrics': {'ms': 2.5}}\n"
    outcome = judge(slot, body, times=3, warm=warm)
    assert (outcome.verdict, outcome.score, dict(outcome.metrics)) == ("judged", 1.0, {"ms": 2.5})


def test_folder_and_request_are_handed_over(slot: Slot) -> None:
    body = """
import os
def evaluate(folder, request):
    assert isinstance(folder, str) and os.path.samefile(folder, ".")
    assert request["version"] == 1 and request["split"] == "search" and request["cases"] is None
    return 1
"""
    assert judge(slot, body).verdict == "judged"


def test_scalars_and_arrays_of_numpy_count_as_numbers(slot: Slot) -> None:
    body = """
import numpy
def evaluate(folder, request):
    return {"score": numpy.float32(0.5), "metrics": {"n": numpy.int64(3), "ok": numpy.bool_(True)},
            "artifacts": {"x": numpy.arange(3)}}
"""
    outcome = judge(slot, body, times=2)
    assert (outcome.score, dict(outcome.metrics)) == (0.5, {"n": 3.0, "ok": 1.0})


def test_unseeded_numbers_differ_between_warm_evaluations(slot: Slot) -> None:
    slot.write(
        evaluate="import random, numpy.random\n"
        "def evaluate(folder, request): return random.random() + numpy.random.random()\n"
    )

    async def main() -> list[float | None]:
        async with slot.runner(function="evaluate.py:evaluate") as runner:
            return [(await runner.evaluate(REQUEST)).score for _ in range(4)]

    assert len(set(trio.run(main))) == 4


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("import os\ndef evaluate(f, r): os._exit(0)", "before"),
        ("import os\ndef evaluate(f, r): os._exit(75)", "before"),
        ("def evaluate(f, r): raise SystemExit(0)", "exit"),
        ("def evaluate(f, r): raise ValueError('no such plan')", "no such plan"),
        ("def evaluate(f, r): return missing", "missing"),
        ("import nothing_of_that_name", "nothing_of_that_name"),
        ("def judge(f, r): return 1", "defines no function evaluate; correct evaluator.function"),
        ("evaluate = 1", "defines no function evaluate"),
        ("def evaluate(", "SyntaxError"),
        ("def evaluate(f, r):\n    import os\n    os.close(2)\n    os.abort()", "SIGABRT"),
        ("def evaluate(f, r):\n    while True: pass", "time limit"),
    ],
)
def test_a_function_that_does_not_return_has_failed(slot: Slot, body: str, word: str) -> None:
    outcome = judge(slot, body, timeout=2.0)
    assert outcome.verdict == "failed" and word in (outcome.reason or ""), outcome


def test_an_exception_leaves_its_traceback_as_feedback(slot: Slot) -> None:
    outcome = judge(slot, "def helper():\n    return 1 / 0\ndef evaluate(f, r):\n    return helper()\n")
    assert "in helper" in outcome.feedback and "function.py" not in outcome.feedback
    assert "ZeroDivisionError" in (outcome.reason or "")


@pytest.mark.parametrize(
    "value",
    [
        "None",
        "'0.5'",
        "float('nan')",
        "{'score': 10 ** 400}",
        "object()",
        "{(1, 2): 3}",
        "[1]",
        "{1: 1, '1': 2}",
    ],
)
def test_a_returned_value_that_is_no_result_is_invalid(slot: Slot, value: str) -> None:
    assert judge(slot, f"def evaluate(f, r): return {value}").verdict == "invalid"


def test_exit_75_of_the_function_means_could_not_judge(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluators.runner.RETRY_PAUSES", ())
    assert judge(slot, "import sys\ndef evaluate(f, r): sys.exit(75)").verdict == "could_not_judge"


def test_a_fork_that_comes_back_through_the_function_does_not_answer(slot: Slot) -> None:
    body = """
import os, time
def evaluate(folder, request):
    if os.fork() == 0:
        return 1000000
    os.wait()
    return 2
"""
    assert judge(slot, body).score == 2.0


def test_output_of_the_function_is_not_its_result(slot: Slot) -> None:
    assert judge(slot, "def evaluate(f, r):\n    print(99, flush=True)\n    return 1\n").score == 1.0


def test_asynchronous_functions_are_awaited(slot: Slot) -> None:
    assert judge(slot, "async def evaluate(f, r): return 4").score == 4.0


def test_the_server_holds_no_module_of_the_checkout(slot: Slot) -> None:
    body = """
import json, sys
assert json.loads
LOADED = "plan" in sys.modules or "sub" in sys.modules
def evaluate(folder, request):
    import plan, sub.part
    json.loads = None
    return {"score": plan.X, "metrics": {"loaded": LOADED}}
"""
    (slot.checkout / "sub").mkdir()
    (slot.checkout / "sub" / "part.py").touch()
    slot.write(evaluate=body, plan="X = 1")

    async def main() -> list[Outcome]:
        outcomes = []
        async with slot.runner(function="evaluate.py:evaluate") as runner:
            for number in (1, 2, 3):
                slot.write(plan=f"X = {number}")
                outcomes.append(await runner.evaluate(REQUEST))
        return outcomes

    outcomes = trio.run(main)
    assert [outcome.score for outcome in outcomes] == [1.0, 2.0, 3.0]
    assert [outcome.metrics["loaded"] for outcome in outcomes] == [0.0, 0.0, 0.0]


def test_modules_named_like_ours_belong_to_the_candidate(slot: Slot) -> None:
    for name in ("server", "evaluators", "wire", "tree", "function", "launch"):
        slot.write(**{name: "MINE = 1"})
    body = """
def evaluate(folder, request):
    import server, evaluators, wire, tree, function, launch
    return sum(module.MINE for module in (server, evaluators, wire, tree, function, launch))
"""
    assert judge(slot, body, times=2).score == 6.0


def test_a_library_that_starts_threads_at_import_stays_cold_and_works(slot: Slot, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "threaded_library.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    )
    os.environ["PYTHONPATH"] = str(library)
    try:
        body = "import threaded_library\ndef evaluate(f, r): return 1\n"
        outcome = judge(slot, body, times=3, env=("PYTHONPATH",))
    finally:
        del os.environ["PYTHONPATH"]
    assert outcome.verdict == "judged"


def test_an_editable_installation_follows_the_candidate(slot: Slot, tmp_path: Path) -> None:
    (slot.root / "src").mkdir()
    (slot.root / "src" / "edited_package.py").write_text("X = 1")
    (slot.checkout / "src").mkdir()
    (slot.checkout / "src" / "edited_package.py").write_text("X = 2")
    os.environ["PYTHONPATH"] = str(slot.root / "src")
    try:
        body = "import edited_package\ndef evaluate(f, r): return edited_package.X\n"
        assert judge(slot, body, times=2).score == 2.0
        slot.write(evaluate="import edited_package\nprint(edited_package.X)\n")
        assert slot.evaluate(sandbox="none").score == 2.0
    finally:
        del os.environ["PYTHONPATH"]


@pytest.mark.parametrize("python", OTHER_PYTHONS or [Path(sys.executable)])
def test_other_interpreters_of_the_machine_serve_as_well(slot: Slot, python: Path) -> None:
    body = "import sys\ndef evaluate(folder, request): return sys.version_info[0]\n"
    assert judge(slot, body, times=2, python=python).score == 3.0


def test_an_evaluator_in_a_subfolder_sees_the_whole_candidate(slot: Slot) -> None:
    from evaluators.runner import Runner

    (slot.root / "bench").mkdir()
    (slot.checkout / "bench").mkdir()
    (slot.checkout / "bench" / "evaluate.py").write_text(
        "def evaluate(folder, request): return float(open('../value.txt').read())"
    )
    (slot.checkout / "value.txt").write_text("6")

    async def main() -> Outcome:
        from dataclasses import replace

        spec = replace(slot.spec(function="evaluate.py:evaluate"), root=slot.root / "bench")
        async with Runner(spec, slot.checkout, slot.scratch, folder="bench") as runner:
            return await runner.evaluate(REQUEST)

    assert trio.run(main).score == 6.0
