"""`evaluators.isolated`: from an evaluator behind walls, from one without, and by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from evaluator_bench import Slot, walls_available
from evaluators.isolated import Failed, Worker, call, run
from test_function import OTHER_PYTHONS

from evaluators.contract import Outcome

EVALUATE = """
import json, os, sys
from evaluators.isolated import Failed, call, run
def evaluate(folder, request):
    try:
        return call("plan.py:value", 2, timeout=20, memory=300_000_000, hide=["answers.json"])
    except Failed as error:
        return {"score": -1, "feedback": str(error) + "|" + error.output}
if __name__ == "__main__":
    print(json.dumps(evaluate(".", None)))
"""
FORMS = pytest.mark.parametrize("form", ["function", "command"])
WALLED = pytest.mark.skipif(not walls_available(), reason="this machine gives no user namespaces")


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    slot = Slot.make(tmp_path)
    slot.write(evaluate=EVALUATE)
    (slot.checkout / "answers.json").write_text("secret")
    return slot


def judged(slot: Slot, form: str, plan: str, **fields: object) -> Outcome:
    slot.write(plan=plan)
    if form == "function":
        fields["function"] = "evaluate.py:evaluate"
    return slot.evaluate(**fields)


@FORMS
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_function_of_the_candidate_is_called_and_its_value_comes_back(
    slot: Slot, form: str, sandbox: str
) -> None:
    plan = "import sys\nprint('noise')\nsys.stdout.write('{\"score\": 9}')\ndef value(x): return x + 1"
    outcome = judged(slot, form, plan, sandbox=sandbox)
    assert outcome.score == 3.0, outcome
    assert outcome.inside == ("evaluate.py",)
    assert outcome.isolated == (1 if sandbox == "auto" and walls_available() else 0)


@WALLED
@pytest.mark.parametrize(
    "attempt",
    [
        "open('evaluate.py', 'w')",
        "open('new.txt', 'w')",
        "open('answers.json').read(1)[0]",
        "open({scratch!r} + '/request.json')",
        "os.environ['EVOLVE_RESULT']",
        "os.environ['EVOLVE_ISOLATED']",
        "os.listdir('/proc/4')",
        "os.kill(3, 0)",
        "os.fstat(5)",
        "ctypes.CDLL(None).umount2(b'/proc', 2) == 0 or 1 / 0",
        "ctypes.CDLL(None).umount2({scratch!r}.encode(), 2) == 0 or 1 / 0",
        "ctypes.CDLL(None).mount(None, os.getcwd().encode(), None, 32 | 4096, None) == 0 or 1 / 0",
        "ctypes.CDLL(None).unshare(0x20000000) == 0 or 1 / 0",
        "open('/proc/1/mem', 'rb')",
        "open('/usr/evolve-was-here', 'w')",
    ],
)
def test_behind_the_second_wall_the_evaluator_is_out_of_reach(slot: Slot, attempt: str) -> None:
    plan = "import ctypes, os\ndef value(x):\n    try:\n        "
    plan += attempt.format(scratch=str(slot.scratch))
    plan += "\n    except (OSError, KeyError, ZeroDivisionError, IndexError): return 0\n    return 1\n"
    outcome = judged(slot, "function", plan)
    assert outcome.score == 0.0, outcome


@WALLED
def test_what_an_isolated_program_may_do(slot: Slot) -> None:
    plan = """
import multiprocessing, os, socket, tempfile
def value(x):
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    open("/dev/shm/x", "w").close()
    assert open("evaluate.py").read()
    server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1)
    socket.create_connection(server.getsockname(), 5).close()
    with multiprocessing.Pool(2) as pool:
        return sum(pool.map(abs, [-1, -2]))
"""
    assert judged(slot, "command", plan).score == 3.0


@FORMS
@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("import os\ndef value(x): os._exit(0)", "exit 0 before it returned"),
        ("import os, signal\ndef value(x): os.kill(os.getpid(), 9)", "signal 9"),
        ("def value(x): raise ValueError('no such plan')", "ValueError: no such plan"),
        ("def value(x): return object()", "cannot be handed back"),
        ("def value(", "SyntaxError"),
        ("import os\ndef value(x):\n    os.write(3, b'\\0\\0\\0\\2{}')\n    return 1", "what is none"),
        ("def value(x):\n    kept = [b'x' * 10**7 for _ in range(100)]\n    return len(kept)", "emory"),
    ],
)
def test_a_failure_has_a_reason_and_no_value(slot: Slot, form: str, plan: str, words: str) -> None:
    outcome = judged(slot, form, plan)
    assert outcome.score == -1.0 and words in outcome.feedback, outcome


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_time_limit_ends_the_program_and_the_evaluator_goes_on(slot: Slot, sandbox: str) -> None:
    slot.write(evaluate=EVALUATE.replace("timeout=20", "timeout=1"))
    plan = "import os, time\ndef value(x):\n    if os.fork() == 0:\n        os.setsid()\n    time.sleep(60)"
    outcome = judged(slot, "command", plan, sandbox=sandbox)
    assert outcome.score == -1.0 and "time limit of 1 s" in outcome.feedback, outcome


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_command_is_run_and_what_it_printed_comes_back(slot: Slot, sandbox: str) -> None:
    slot.write(
        evaluate="""
from evaluators.isolated import run
done = run(["python", "solver.py"], input="4", timeout=20)
assert (done.exit, done.stderr) == (3, "talk"), done
print(float(done.stdout))
""",
        solver="import sys\nsys.stderr.write('talk')\nprint(int(input()) * 2)\nsys.exit(3)",
    )
    assert slot.evaluate(sandbox=sandbox).score == 8.0


@pytest.mark.parametrize("python", OTHER_PYTHONS)
def test_evaluators_in_other_interpreters_have_it(slot: Slot, python: Path) -> None:
    for form in ("function", "command"):
        assert judged(slot, form, "def value(x): return x + 2", python=python).score == 4.0


def test_a_package_of_the_user_with_the_same_name_is_theirs(slot: Slot) -> None:
    slot.write(evaluators="X = 5", evaluate="import evaluators\nprint(evaluators.X)")
    assert slot.evaluate().score == 5.0


def test_it_works_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.py").write_text("calls = []\ndef add(x):\n    calls.append(x)\n    return calls\n")
    with Worker("plan.py:add") as worker:
        assert worker(1) == [1] and worker(2) == [1, 2]
    with pytest.raises(Failed, match="FileNotFoundError"):
        call("gone.py:add", 1)
    assert run([sys.executable, "-c", "print(input())"], input="x").stdout == "x\n"


def test_the_file_needs_nothing_but_the_standard_library() -> None:
    import evaluators.isolated

    path = Path(evaluators.isolated.__file__)
    ran = subprocess.run(
        [sys.executable, "-S", "-I", "-c", f"import runpy; runpy.run_path({str(path)!r})"], check=False
    )
    assert ran.returncode == 0
