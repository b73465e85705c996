"""Reads the cases of tests/cases that concern evaluators, and the expectations they state."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from evaluators.contract import Outcome

CASES = Path(__file__).parents[1] / "cases"
VERDICTS = {
    "judged": "judged",
    "candidate failed": "failed",
    "invalid result": "invalid",
    "could not judge": "could_not_judge",
}


def names(area: str) -> list[str]:
    return sorted(path.parent.name for path in (CASES / area).glob("*/case.toml"))


def load(area: str, name: str) -> tuple[Path, dict[str, Any]]:
    folder = CASES / area / name
    return folder, tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))


def stream(folder: Path, pieces: list[dict[str, Any]] | None) -> bytes | None:
    """Join the pieces of a byte stream; None stands for nothing written."""
    if pieces is None:
        return None
    return b"".join(_piece(folder, piece) * piece.get("times", 1) for piece in pieces)


def _piece(folder: Path, piece: dict[str, Any]) -> bytes:
    if "text" in piece:
        return str(piece["text"]).encode()
    if "hex" in piece:
        return bytes.fromhex(piece["hex"])
    return (folder / piece["file"]).read_bytes()


def check(outcome: Outcome, expect: dict[str, Any]) -> None:
    """Assert everything that an expectation says about one outcome."""
    if "any_of" in expect:
        problems = []
        for table in expect["any_of"]:
            try:
                check(outcome, table)
                break
            except AssertionError as error:
                problems.append(str(error))
        else:
            raise AssertionError(problems)
    if "verdict" in expect:
        assert outcome.verdict == VERDICTS[expect["verdict"]], outcome
    if "verdict_any_of" in expect:
        assert outcome.verdict in [VERDICTS[word] for word in expect["verdict_any_of"]], outcome
    assert outcome.score not in expect.get("score_never", [])
    if "score" in expect:
        assert outcome.score == expect["score"]
    if "metrics" in expect:
        assert dict(outcome.metrics) == expect["metrics"]
    if "cases" in expect:
        assert {case.name: case.score for case in outcome.cases} == expect["cases"]
    _check_words(outcome, expect)
    if expect.get("in_archive") is False:
        assert outcome.verdict != "judged"


def _check_words(outcome: Outcome, expect: dict[str, Any]) -> None:
    reason = (outcome.reason or "").lower()
    for word in expect.get("says", []):
        assert word.lower() in reason, outcome
    if "says_any" in expect:
        assert any(word.lower() in reason for word in expect["says_any"]), outcome
    for text in expect.get("feedback_has", []):
        assert text in outcome.feedback
