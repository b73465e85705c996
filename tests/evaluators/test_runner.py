from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio
from evaluator_bench import REQUEST, Slot, processes_with

from archives.errors import ConfigError, EvaluatorError
from evaluators import process as process_module
from evaluators import runner as runner_module
from evaluators.contract import Outcome, Request
from evaluators.spec import EvaluatorSpec, Provided, command_line

BOTH_TIERS = pytest.mark.parametrize("sandbox", ["auto", "none"])


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot.make(tmp_path)


@BOTH_TIERS
def test_the_request_names_what_is_asked(slot: Slot, sandbox: str) -> None:
    slot.write(
        evaluate="""
import json, os
request = json.load(open(os.environ["EVOLVE_REQUEST"]))
assert request["version"] == 1
assert os.path.samefile(request["scratch"], os.path.dirname(os.environ["EVOLVE_RESULT"]))
assert os.getcwd() == os.path.dirname(os.path.abspath(__file__))
with open(os.environ["EVOLVE_RESULT"], "w") as file:
    json.dump({"score": request["seed"], "cases": {name: 1 for name in request["cases"]}}, file)
"""
    )
    outcome = slot.evaluate(request=Request("c" * 40, cases=("a", "b"), seed=7), sandbox=sandbox)
    assert (outcome.verdict, outcome.score) == ("judged", 7.0)
    assert [case.name for case in outcome.cases] == ["a", "b"]


@BOTH_TIERS
def test_only_named_variables_reach_the_evaluator(
    slot: Slot, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "s3cret")
    monkeypatch.setenv("MY_SETTING", "blue")
    slot.write(
        evaluate="""
import os
assert "SECRET_API_KEY" not in os.environ and os.environ["MY_SETTING"] == "blue"
assert os.environ["OMP_NUM_THREADS"] == "2" and os.environ["HOME"] == os.environ["TMPDIR"]
print(1)
"""
    )
    assert slot.evaluate(sandbox=sandbox, env=("MY_SETTING",), threads=2).verdict == "judged"


@BOTH_TIERS
@pytest.mark.parametrize(
    "trick",
    [
        "os.mkfifo(path)",
        "os.symlink('/etc/passwd', path)",
        "os.mkdir(path)",
        "open(path, 'wb').truncate(100 << 20)",
        "open(path, 'w').close()",
        "open(path, 'w').write('[' * 100_000)",
    ],
)
def test_a_result_file_that_is_none_is_invalid_and_harmless(slot: Slot, sandbox: str, trick: str) -> None:
    slot.write(evaluate=f"import os\npath = os.environ['EVOLVE_RESULT']\n{trick}\nprint(5.0)\n")
    outcome = slot.evaluate(times=2, sandbox=sandbox)
    assert outcome.verdict == "invalid" and "result" in (outcome.reason or "")


@BOTH_TIERS
def test_nothing_in_scratch_or_temporary_folders_meets_the_next_evaluation(slot: Slot, sandbox: str) -> None:
    slot.write(
        evaluate="""
import os, tempfile
for folder in (os.environ["HOME"],) + (("/tmp", "/dev/shm", "/var/tmp") if os.getpid() < 100 else ()):
    assert not os.path.lexists(folder + "/note"), folder
    os.makedirs(folder + "/note/locked")
    open(folder + "/note/locked/x", "w").close()
    os.chmod(folder + "/note/locked", 0)
deep = os.open(os.environ["HOME"], os.O_RDONLY)
for _ in range(1200):
    os.mkdir("d" * 200, dir_fd=deep)
    below = os.open("d" * 200, os.O_RDONLY, dir_fd=deep)
    os.close(deep)
    deep = below
print(1)
"""
    )
    assert slot.evaluate(times=2, sandbox=sandbox).verdict == "judged"
    assert list(slot.scratch.iterdir()) == []


@BOTH_TIERS
def test_a_cancelled_evaluation_leaves_no_process_and_the_slot_usable(slot: Slot, sandbox: str) -> None:
    token = f"cancelled_{os.getpid()}_{sandbox}"
    slot.write(
        evaluate=f"""
import os, subprocess, sys, time
if os.path.exists("fast"): print(2); sys.exit()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60) # {token}"], start_new_session=True)
time.sleep(60)
"""
    )

    async def main() -> Outcome:
        async with slot.runner(sandbox=sandbox) as runner:
            with trio.move_on_after(1.0) as scope:
                await runner.evaluate(REQUEST)
            assert scope.cancelled_caught
            assert processes_with(token) == []
            (slot.checkout / "fast").touch()
            return await runner.evaluate(REQUEST)

    assert trio.run(main).score == 2.0


@BOTH_TIERS
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_everything_dies_with_the_orchestrator(slot: Slot, sandbox: str, number: signal.Signals) -> None:
    token = f"orphan_{os.getpid()}_{sandbox}_{number.name}"
    slot.write(
        evaluate=f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60) # {token}"], start_new_session=True)
open("started", "w").close()
time.sleep(60)
"""
    )
    program = f"""
import sys, trio
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[2])]!r}
from evaluator_bench import Slot, REQUEST
slot = Slot(*map(Path, {[str(slot.root), str(slot.checkout), str(slot.scratch)]!r}))
slot.evaluate(sandbox={sandbox!r})
"""
    orchestrator = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 30
    while not (slot.checkout / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_with(token)
    orchestrator.send_signal(number)
    orchestrator.wait()
    while (processes_with(token) or processes_with(str(slot.scratch))) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_with(token) == []


def test_a_fork_bomb_is_stopped(slot: Slot) -> None:
    slot.write(
        evaluate="""
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""
    )
    slot_is_fine = "print(1)"

    async def main() -> list[Outcome]:
        async with slot.runner(timeout=20.0) as runner:
            first = await runner.evaluate(REQUEST)
            slot.write(evaluate=slot_is_fine)
            return [first, await runner.evaluate(REQUEST)]

    bomb, after = trio.run(main)
    assert bomb.verdict == "failed" and after.verdict == "judged"


@BOTH_TIERS
def test_memory_is_limited_for_the_tree_and_not_only_for_each_process(slot: Slot, sandbox: str) -> None:
    slot.write(
        evaluate="""
import os, time
for _ in range(8):
    if os.fork() == 0:
        data = bytearray(os.urandom(1)) * (40 << 20)
        time.sleep(20)
        os._exit(0)
time.sleep(20)
print(1)
"""
    )
    outcome = slot.evaluate(sandbox=sandbox, memory=160 << 20, timeout=15.0)
    assert outcome.verdict == "failed" and "memory" in (outcome.reason or "")


def test_a_candidate_that_kills_its_judge_has_failed_and_the_next_is_judged(slot: Slot) -> None:
    slot.write(evaluate="import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(20)\n")

    async def main() -> list[Outcome]:
        async with slot.runner(sandbox="none") as runner:
            first = await runner.evaluate(REQUEST)
            slot.write(evaluate="print(3)")
            return [first, await runner.evaluate(REQUEST)]

    killer, after = trio.run(main)
    assert (killer.verdict, after.score) == ("failed", 3.0)
    assert "killed" in (killer.reason or "")


@BOTH_TIERS
def test_data_appears_in_the_checkout_and_cannot_be_deleted_through_it(slot: Slot, sandbox: str) -> None:
    (slot.root / "big").mkdir()
    (slot.root / "big" / "rows.txt").write_text("42")
    extra = slot.root / "made.txt"
    extra.write_text("8")
    slot.write(evaluate="print(int(open('big/rows.txt').read()) + int(open('sub/made.txt').read()))")
    outcome = slot.evaluate(
        times=2, sandbox=sandbox, data=("big",), provided=(Provided("sub/made.txt", extra),)
    )
    assert outcome.score == 50.0
    assert (slot.root / "big" / "rows.txt").read_text() == "42"
    left = slot.checkout / "big"
    assert not left.exists() or list(left.iterdir()) == []


@BOTH_TIERS
def test_a_candidate_that_puts_its_own_file_where_data_goes_has_failed(slot: Slot, sandbox: str) -> None:
    (slot.root / "big").mkdir()
    slot.write(evaluate="print(1)")
    (slot.checkout / "big").symlink_to("/etc")
    outcome = slot.evaluate(sandbox=sandbox, data=("big",))
    assert outcome.verdict == "failed" and "data" in (outcome.reason or "")


def test_a_checkout_that_was_made_anew_is_the_one_judged(slot: Slot) -> None:
    slot.write(evaluate="print(1)")

    async def main() -> list[float | None]:
        async with slot.runner() as runner:
            first = await runner.evaluate(REQUEST)
            slot.checkout.rename(slot.checkout.with_name("old"))
            slot.checkout.mkdir()
            slot.write(evaluate="print(2)")
            return [first.score, (await runner.evaluate(REQUEST)).score]

    assert trio.run(main) == [1.0, 2.0]


def test_a_server_is_replaced_after_its_share_of_evaluations(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "RECYCLE_AFTER", 2)
    slot.write(evaluate="import decimal\ndef evaluate(folder, request):\n    return 1\n")
    outcome = slot.evaluate(times=5, function="evaluate.py:evaluate")
    assert outcome.verdict == "judged"


def test_a_server_that_has_grown_is_replaced(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    slot.write(evaluate="import os\ndef evaluate(folder, request):\n    return os.getppid()\n")

    async def servers() -> set[float | None]:
        async with slot.runner(function="evaluate.py:evaluate", sandbox="none") as runner:
            return {(await runner.evaluate(REQUEST)).score for _ in range(4)}

    assert len(trio.run(servers)) == 1
    monkeypatch.setattr(process_module, "GROWTH", -1)
    assert len(trio.run(servers)) > 1


def test_an_evaluator_that_recovers_is_judged_and_says_how_often_it_was_asked(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "RETRY_PAUSES", (0.01, 0.01, 0.01))
    slot.write(
        evaluate="""
import os, sys
if os.path.exists("seen"):
    print(4)
    sys.exit()
open("seen", "w").close()
sys.exit(75)
"""
    )
    outcome = slot.evaluate()
    assert (outcome.verdict, outcome.score, outcome.attempts) == ("judged", 4.0, 2)


def test_restore_is_called_before_each_further_attempt(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "RETRY_PAUSES", (0.01, 0.01))
    slot.write(evaluate="import sys\nsys.exit(75)\n")
    calls: list[int] = []

    async def main() -> Outcome:
        async with slot.runner() as runner:
            return await runner.evaluate(REQUEST, restore=lambda: calls.append(1))

    outcome = trio.run(main)
    assert (outcome.verdict, outcome.attempts, len(calls)) == ("could_not_judge", 3, 2)


def test_terminal_escapes_do_not_reach_the_reason(slot: Slot) -> None:
    slot.write(
        evaluate="import sys\nsys.stderr.write('\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m\\n')\nsys.exit(3)\n"
    )
    outcome = slot.evaluate()
    assert outcome.reason == "exit 3: red" and "\x1b" not in outcome.feedback


def test_a_missing_program_is_a_failure_that_names_it(slot: Slot) -> None:
    outcome = slot.evaluate(command="no-such-program --now")
    assert outcome.verdict == "failed" and "no-such-program" in (outcome.reason or "")


def test_a_missing_interpreter_is_named(slot: Slot) -> None:
    with pytest.raises(EvaluatorError, match="nowhere/python"):
        slot.evaluate(python=Path("/nowhere/python"))


def test_a_command_with_shell_characters_runs_in_a_shell(slot: Slot) -> None:
    slot.write(evaluate="print(1)")
    assert slot.evaluate(command="python evaluate.py >/dev/null && echo 2").score == 2.0


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("python evaluate.py --fast", ["python", "evaluate.py", "--fast"]),
        ("run 'two words'", ["run", "two words"]),
        ("a | b", ["/bin/sh", "-c", "a | b"]),
        ("X=1 run", ["/bin/sh", "-c", "X=1 run"]),
    ],
)
def test_commands_are_split_unless_they_need_a_shell(command: str, argv: list[str]) -> None:
    assert command_line(command) == argv


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"command": "a", "function": "b.py:c"},
        {"function": "b.c"},
        {"command": "a", "timeout": 0},
        {"command": "a", "data": ("../up",)},
        {"command": "a", "data": ("/abs",)},
        {"command": "a", "data": (".git/objects",)},
    ],
)
def test_a_wrong_specification_is_refused(fields: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        EvaluatorSpec(root=tmp_path, **fields)  # type: ignore[arg-type]


def test_one_runner_judges_one_candidate_at_a_time(slot: Slot) -> None:
    slot.write(evaluate="import time\ntime.sleep(0.5)\nprint(1)\n")

    async def main() -> None:
        async with slot.runner() as runner, trio.open_nursery() as nursery:
            nursery.start_soon(runner.evaluate, REQUEST)
            await trio.sleep(0.1)
            with pytest.raises(RuntimeError, match="one per slot"):
                await runner.evaluate(REQUEST)

    trio.run(main)
