"""The cases of tests/cases/evaluator_output: judged as bytes, and left by real processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import evaluator_cases
import pytest
import trio

from evaluators import runner as runner_module
from evaluators.contract import Finished, Outcome, Request, judge
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec

REPLAY = """
import os, sys, time
from pathlib import Path
here = Path(sys.argv[1])
for number, name in ((1, "stdout"), (2, "stderr")):
    with open(number, "wb", closefd=False) as out:
        out.write((here / name).read_bytes())
if (here / "result").exists():
    Path(os.environ["EVOLVE_RESULT"]).write_bytes((here / "result").read_bytes())
with open(here / "starts", "a") as log:
    log.write("x")
if (here / "hang").exists():
    time.sleep(60)
sys.exit(int((here / "exit").read_text()))
"""


def request_of(given: dict[str, Any]) -> Request:
    cases = given.get("request_cases")
    return Request(candidate="0" * 40, cases=None if cases is None else tuple(cases))


@pytest.mark.parametrize("name", evaluator_cases.names("evaluator_output"))
def test_output_is_judged_as_the_case_states(name: str) -> None:
    folder, case = evaluator_cases.load("evaluator_output", name)
    given = case["input"]
    finished = Finished(
        exit=given.get("exit"),
        signal=given.get("signal"),
        timed_out=given.get("timed_out", False),
        stdout=evaluator_cases.stream(folder, given.get("stdout")) or b"",
        stderr=evaluator_cases.stream(folder, given.get("stderr")) or b"",
        result=evaluator_cases.stream(folder, given.get("result")),
        limit=given.get("timeout_s"),
    )
    outcome = judge(finished, given.get("objective", "score"), request_of(given))
    evaluator_cases.check(outcome, case["expect"])


@pytest.mark.parametrize("name", evaluator_cases.names("evaluator_output"))
def test_a_process_that_leaves_the_output_is_judged_as_the_case_states(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, case = evaluator_cases.load("evaluator_output", name)
    given = case["input"]
    monkeypatch.setattr(runner_module, "RETRY_PAUSES", (0.01, 0.02))
    checkout, scratch = tmp_path / "checkout", tmp_path / "scratch"
    for path in (checkout, scratch, tmp_path / "root"):
        path.mkdir()
    (checkout / "replay.py").write_text(REPLAY)
    for key in ("stdout", "stderr", "result"):
        data = evaluator_cases.stream(folder, given.get(key))
        if data is not None or key != "result":
            (checkout / key).write_bytes(data or b"")
    if given.get("timed_out"):
        (checkout / "hang").touch()
    (checkout / "exit").write_text(str(given.get("exit", 0)))
    spec = EvaluatorSpec(
        root=tmp_path / "root",
        command="python replay.py .",
        python=Path(sys.executable),
        objective=given.get("objective", "score"),
        timeout=1.0 if given.get("timed_out") else given.get("timeout_s", 60.0),
    )

    async def main() -> Outcome:
        async with Runner(spec, checkout, scratch) as runner:
            return await runner.evaluate(request_of(given))

    outcome = trio.run(main)
    evaluator_cases.check(outcome, case["expect"])
    if case["expect"].get("retried"):
        assert outcome.attempts > 1
        assert (checkout / "starts").stat().st_size == outcome.attempts
