"""Cheats that are made from inside the evaluator's own process, and what becomes of each."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from evaluator_bench import REQUEST, Slot

from evaluators.contract import Outcome
from evaluators.spec import Origin

FUNCTION = """
import time
def evaluate(folder, request):
    import plan
    began = time.perf_counter()
    value = plan.value()
    assert sum([value]) <= 10, "too good"
    return {"score": value, "metrics": {"seconds": time.perf_counter() - began}}
"""
SCRIPT = """
import json, os, time
import plan
def check(value):
    assert sum([value]) <= 10, "too good"
began = time.perf_counter()
value = plan.value()
check(value)
print(json.dumps({"score": value, "metrics": {"seconds": time.perf_counter() - began}}))
"""
HONEST = "def value(): return 2"
FORGED = '{"score": 1000000}'

IN_BOTH = {
    "patched timer": "import time\ntime.perf_counter = lambda: 0.0\n" + HONEST,
    "patched timer by another builtin": "import time\ntime.perf_counter = time.process_time\n" + HONEST,
    "patched timer by a mock": "from unittest import mock\ndef value():\n"
    "    mock.patch('time.perf_counter', return_value=0.0).start()\n    return 2\n",
    "patched builtin": "import builtins\nbuiltins.sum = lambda *a: 0\ndef value(): return 1000000",
    "patched dumps": f"import json\nreal = json.dumps\njson.dumps = lambda *a, **k: {FORGED!r}\n" + HONEST,
    "result file opened": "import os\ndef value():\n"
    f"    open(os.environ['EVOLVE_RESULT'], 'w').write({FORGED!r})\n    return 2\n",
    "result file moved into place": "import os\ndef value():\n"
    f"    open('mine', 'w').write({FORGED!r})\n"
    "    os.replace('mine', os.environ['EVOLVE_RESULT'])\n    return 2\n",
    "every descriptor written to": "import os\ndef value():\n    for fd in range(3, 64):\n"
    '        try: os.write(fd, b\'{"score": 1000000, "returned": "1000000"}\\n\')\n'
    "        except OSError: pass\n    return 2\n",
}
ONLY_FUNCTION = {
    "patched function of the evaluator": "import sys\ndef value():\n"
    "    sys.modules['evaluate'].time = type('T', (), {'perf_counter': staticmethod(lambda: 0.0)})\n"
    "    sys.modules['evaluate'].evaluate = lambda *a: 1000000\n    return 2\n",
    "code of the evaluator exchanged": "import sys\ndef fake(folder, request): return 1000000\ndef value():\n"
    "    sys.modules['evaluate'].evaluate.__code__ = fake.__code__\n    return 2\n",
}
ONLY_SCRIPT = {
    "function of the script replaced": "import sys\ndef value():\n"
    "    sys.modules['__main__'].check = lambda value: None\n    return 1000000\n",
    "result file by another process": "import os, subprocess, sys\ndef value():\n"
    '    subprocess.run([sys.executable, \'-c\', \'import os; open(os.environ["EVOLVE_RESULT"], "w")'
    '.write("1000000")\'])\n    return 2\n',
    "another program instead": f"import os\ndef value(): os.execvp('echo', ['echo', {FORGED!r}])\n",
}
EARLY = {
    "prints and leaves": f"import os\ndef value():\n    os.write(1, b'{FORGED}\\n')\n    os._exit(0)\n",
    "leaves politely": f"import sys\ndef value():\n    print({FORGED!r})\n    sys.exit(0)\n",
    "leaves at import": f"import os\nos.write(1, b'{FORGED}\\n')\nos._exit(0)\n",
}


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot.make(tmp_path)


def judged(slot: Slot, form: str, plan: str, **fields: object) -> Outcome:
    slot.write(evaluate=FUNCTION if form == "function" else SCRIPT, plan=plan)
    if form == "function":
        fields["function"] = "evaluate.py:evaluate"
    return slot.evaluate(**fields)


@pytest.mark.parametrize("form", ["function", "command"])
@pytest.mark.parametrize("name", IN_BOTH)
def test_a_cheat_is_named_and_not_scored(slot: Slot, form: str, name: str) -> None:
    outcome = judged(slot, form, IN_BOTH[name])
    assert outcome.verdict == "tampered" and outcome.score is None, outcome
    assert (outcome.reason or "").startswith("tampering: ")


@pytest.mark.parametrize("name", ONLY_FUNCTION)
def test_a_cheat_on_a_function_is_named(slot: Slot, name: str) -> None:
    outcome = judged(slot, "function", ONLY_FUNCTION[name])
    assert outcome.verdict == "tampered" and "evaluate" in (outcome.reason or ""), outcome


@pytest.mark.parametrize("name", ONLY_SCRIPT)
def test_a_cheat_on_a_script_is_named(slot: Slot, name: str) -> None:
    outcome = judged(slot, "command", ONLY_SCRIPT[name])
    assert outcome.score is None and "tampering: " in (outcome.reason or ""), outcome


@pytest.mark.parametrize("form", ["function", "command"])
@pytest.mark.parametrize("name", EARLY)
def test_leaving_early_with_success_is_a_failure_with_its_evidence(slot: Slot, form: str, name: str) -> None:
    outcome = judged(slot, form, EARLY[name])
    assert (outcome.verdict, outcome.score) == ("failed", None)
    assert (outcome.reason or "").startswith("tampering: "), outcome


@pytest.mark.parametrize("form", ["function", "command"])
def test_what_is_printed_at_exit_changes_nothing(slot: Slot, form: str) -> None:
    plan = f"import atexit, os\natexit.register(lambda: os.write(1, b'{FORGED}\\n'))\n"
    plan += f"atexit.register(print, {FORGED!r})\n" + HONEST
    assert judged(slot, form, plan).score == 2.0


@pytest.mark.parametrize("form", ["function", "command"])
@pytest.mark.parametrize(
    ("origin", "verdict"), [("added", "tampered"), ("editable", "judged"), ("protected", "judged")]
)
def test_a_new_file_that_shadows_a_module_of_python_is_found(
    slot: Slot, form: str, origin: Origin, verdict: str
) -> None:
    slot.write(colorsys="def rgb_to_hsv(*a): return 1")
    outcome = judged(slot, form, "import colorsys\n" + HONEST, origin=lambda _: origin)
    assert outcome.verdict == verdict, outcome
    if verdict == "tampered":
        assert "colorsys" in (outcome.reason or "") and "colorsys.py" in (outcome.reason or "")


def test_what_the_users_own_files_do_is_no_tampering(slot: Slot) -> None:
    plan = "import time\ntime.perf_counter = lambda: 0.0\n" + HONEST
    for form in ("function", "command"):
        assert judged(slot, form, plan, origin=lambda path: "protected").verdict == "judged"


def test_a_script_is_run_as_python_runs_it(slot: Slot) -> None:
    slot.write(
        helper="X = 1",
        evaluate="""
import multiprocessing, os, pickle, sys, threading
import helper
class Thing: pass
def double(x): return 2 * x
if __name__ == "__main__":
    assert sys.argv == ["evaluate.py", "--deep", "3"], sys.argv
    assert os.path.samefile(__file__, "evaluate.py") and os.path.samefile(sys.path[0], ".")
    assert sys.modules["__main__"].Thing is Thing and isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(double, [2]) == [4]
    os.system("echo from a child")
    print(7)
""",
    )
    outcome = slot.evaluate(command="python -u evaluate.py --deep 3")
    assert outcome.score == 7.0, outcome


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no such plan')", "exit 1: ValueError: no such plan"),
        ("import sys\nsys.exit(3)", "exit 3"),
        ("import sys\nsys.exit('out of words')", "exit 1: out of words"),
        ("def f(:", "exit 1: SyntaxError"),
    ],
)
def test_a_script_fails_as_python_lets_it_fail(slot: Slot, body: str, reason: str) -> None:
    slot.write(evaluate=body)
    outcome = slot.evaluate()
    assert outcome.verdict == "failed" and reason in (outcome.reason or ""), outcome
    assert "program.py" not in outcome.feedback


@pytest.mark.parametrize(
    "body",
    [
        "import os\nos.execvp('echo', ['echo', '5'])",
        "import subprocess\nprint('building', flush=True)\nsubprocess.run(['echo', '5'])",
        "import subprocess, sys\nprint('building', flush=True)\n"
        'subprocess.run([sys.executable, \'-c\', \'import os; open(os.environ["EVOLVE_RESULT"], "w").write("5")\'])',
        "import sys\nprint(5)\nsys.exit(0)",
        "import os\nos.write(1, b'5\\n')",
    ],
)
def test_an_evaluator_may_hand_its_work_to_others(slot: Slot, body: str) -> None:
    slot.write(evaluate=body)
    outcome = slot.evaluate(origin=lambda path: "protected", timeout=20)
    assert outcome.score == 5.0, outcome


def test_the_files_that_ran_beside_the_evaluator_are_known(slot: Slot) -> None:
    assert judged(slot, "function", HONEST).inside == ("evaluate.py", "plan.py")
    assert judged(slot, "command", HONEST).inside == ("evaluate.py", "plan.py")


def test_a_candidate_that_spams_a_result_does_not_have_the_last_word(slot: Slot) -> None:
    slot.write(
        evaluate="import subprocess\nsubprocess.Popen(['sh', '-c', 'while :; do echo 99; done'])\n"
        "import time\ntime.sleep(0.1)\nprint(1)"
    )

    async def main() -> list[Outcome]:
        async with slot.runner() as runner:
            return [await runner.evaluate(REQUEST) for _ in range(3)]

    assert {outcome.score for outcome in trio.run(main)} == {1.0}
