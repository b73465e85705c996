"""The evaluator of `pytest = "tests/"`: each test of a suite is a case, the pass rate is the score.

Runs in the user's interpreter, with the user's pytest, plugins and settings: no candidate can change any of
them. Which tests there are was found out on the base: one that a candidate makes vanish, skips or expects to
fail has not passed, and one that it adds is not counted.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_CASE_FEEDBACK = 1500
_SHOWN = 8
_LISTED = "EVOLVE-TESTS "
_WATCHED = ("_pytest.runner", "_pytest.reports", "_pytest.python", "_pytest.main", "_pytest.timing")


class Recorder:
    """A pytest plugin that notes what became of each test."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.words: dict[str, str] = {}
        self.seconds = 0.0

    def pytest_collection_finish(self, session: Any) -> None:
        """Note what there is."""
        self.known = [item.nodeid for item in session.items]

    def pytest_collectreport(self, report: Any) -> None:
        """Say why a file cannot be collected."""
        if report.failed:
            self.words[report.nodeid] = str(report.longreprtext)[-_CASE_FEEDBACK:]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note one phase of one test: a later failure overrides an earlier success."""
        if report.when == "call":
            self.seconds += report.duration
        passed = report.passed and not hasattr(report, "wasxfail")
        if passed and (report.when != "call" or report.nodeid in self.outcomes):
            return
        self.outcomes[report.nodeid] = "passed" if passed else report.outcome
        if report.failed:
            self.words[report.nodeid] = str(report.longreprtext)[-_CASE_FEEDBACK:]


def _run(arguments: list[str]) -> tuple[Recorder, int]:
    import pytest

    for name in _WATCHED:
        if name in sys.modules:
            sys.audit("evolve.watch", sys.modules[name])
    recorder = Recorder()
    options = ["-p", "no:cacheprovider", "--tb=short", "--color=no"]
    return recorder, int(pytest.main([*options, *arguments], plugins=[recorder]))


def _list(arguments: list[str]) -> None:
    recorder, code = _run(["--collect-only", "-q", *arguments])
    if code != 0:
        raise SystemExit(f"pytest cannot collect the suite (exit {code})")
    print("\n" + _LISTED + json.dumps(recorder.known))


def _judge(arguments: list[str], request: dict[str, Any]) -> dict[str, Any]:
    recorder, code = _run(arguments)
    if code not in (0, 1):
        for name, words in list(recorder.words.items())[:_SHOWN]:
            print(f"{name}\n{words}\n", file=sys.stderr)
        raise SystemExit(f"pytest could not run the suite (exit {code})")
    known = request.get("known") or recorder.known
    counts = dict.fromkeys(("passed", "failed", "skipped", "missing"), 0)
    cases: dict[str, Any] = {}
    for name in known:
        outcome = recorder.outcomes.get(name, "missing")
        counts[outcome] = counts.get(outcome, 0) + 1
        cases[name[:500]] = {"score": int(outcome == "passed"), "feedback": recorder.words.get(name, "")}
        if outcome in ("missing", "skipped"):
            cases[name[:500]]["feedback"] = outcome
    failing = [f"{name}\n{recorder.words[name]}" for name in known if name in recorder.words]
    more = f"\n\nand {len(failing) - _SHOWN} more failures" if len(failing) > _SHOWN else ""
    return {
        "score": counts["passed"] / max(1, len(known)),
        "metrics": {**counts, "seconds": recorder.seconds},
        "cases": cases,
        "feedback": "\n\n".join(failing[:_SHOWN]) + more,
    }


def main(arguments: list[str]) -> None:
    """Run the suite, or list its tests."""
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it, in place of this file's folder
    if arguments[:1] == ["--list"]:
        _list(arguments[1:])
        return
    with open(os.environ["EVOLVE_REQUEST"], encoding="utf-8") as file:
        request = json.load(file)
    result = json.dumps(_judge(arguments, request))
    with open(os.environ["EVOLVE_RESULT"], "w", encoding="utf-8") as file:
        file.write(result)


if __name__ == "__main__":
    main(sys.argv[1:])
