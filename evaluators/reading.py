"""Strict reading of one result: bytes in, plain data out, or a `ResultError` that says what is wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from archives.records import CaseScore
from evaluators.text import head, plain

RESULT_BYTES = 8 * 1024 * 1024
NAMES = 100_000
NAME_CHARACTERS = 500
FEEDBACK_BYTES = 64 * 1024
CASE_FEEDBACK_BYTES = 8 * 1024
ARTIFACT_BYTES = 256 * 1024
ARTIFACTS = 64
ARTIFACTS_BYTES = 2 * 1024 * 1024

_LINE_END = re.compile("[\r\n]+")
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII
)


class ResultError(ValueError):
    """A result breaks the contract; the message says how."""


@dataclass(frozen=True, slots=True)
class Result:
    """A sound result; `score` is None if it has none of its own."""

    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    cases: tuple[CaseScore, ...] = ()
    measures: Mapping[str, float | str] = field(default_factory=dict)
    feedback: str = ""
    artifacts: Mapping[str, str] = field(default_factory=dict)


def read_result(data: bytes) -> Result:
    """Read a result file: a number or a JSON object in UTF-8.

    Raises:
        ResultError: It is none, or breaks the contract.
    """
    if len(data) > RESULT_BYTES:
        raise ResultError(f"the result is larger than {RESULT_BYTES // 2**20} MiB")
    if not data.strip():
        raise ResultError("the result file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResultError(f"the result is not UTF-8 (byte {error.start})") from None
    return _result(_parse(text.strip(), "the result"))


def read_line(stdout: bytes) -> Result:
    """Read the last non-empty line of standard output: a number or a JSON object.

    Raises:
        ResultError: There is none, or it breaks the contract.
    """
    line = last_line(stdout)
    if not line:
        raise ResultError("nothing was written to the result file and nothing was printed: no score")
    if len(line) > RESULT_BYTES:
        raise ResultError(f"the last line of output is longer than {RESULT_BYTES // 2**20} MiB")
    return _result(_parse(line, "the last line of output"))


def last_line(stdout: bytes) -> str:
    """Return the last line that is not blank, decoded with replacement and stripped; "" if there is none."""
    lines = _LINE_END.split(stdout.decode("utf-8", "replace"))
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _parse(text: str, what: str) -> object:
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except ResultError:
        raise
    except RecursionError:
        raise ResultError(f"{what} is nested too deeply") from None
    except ValueError:
        raise ResultError(f"{what} is neither a number nor a whole JSON object: {head(text, 80)!r}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ResultError(f"the key {twice!r} occurs twice in the result")
    return found


def _integer(digits: str) -> float:
    # float() is linear and has no limit on digits; what is too large becomes infinite and is refused later.
    return float(digits)


def _result(value: object) -> Result:
    if not isinstance(value, dict):
        return Result(score=_number(value, "score"))
    return Result(
        score=_number(value["score"], "score") if "score" in value else None,
        metrics={name: _number(item, f"metric {name!r}") for name, item in _items(value, "metrics")},
        cases=tuple(_case(name, item) for name, item in _items(value, "cases")),
        measures={name: _measure(item, name) for name, item in _items(value, "measures")},
        feedback=head(_text(value.get("feedback"), "feedback"), FEEDBACK_BYTES),
        artifacts=_artifacts(value),
    )


def _items(value: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    table = value.get(key)
    if table is None:
        return
    if not isinstance(table, dict):
        raise ResultError(f"{key!r} is {_kind(table)}, not an object")
    if len(table) > NAMES:
        raise ResultError(f"{key!r} has more than {NAMES:,} entries")
    for name, item in table.items():
        if not name or len(name) > NAME_CHARACTERS or not name.isprintable():
            raise ResultError(f"{key!r} has a name that is empty, too long or not printable: {name[:80]!r}")
        yield name, item


def _number(value: object, what: str) -> float:
    if not isinstance(value, int | float):
        raise ResultError(f"{what} is {_kind(value)}, not a number")
    number = float(value)
    if math.isnan(number):
        raise ResultError(f"{what} is nan, not a finite number")
    if math.isinf(number):
        raise ResultError(f"{what} is infinite, not a finite number")
    return number


def _case(name: str, value: object) -> CaseScore:
    if not isinstance(value, dict):
        return CaseScore(name, _number(value, f"score of case {name!r}"))
    if "score" not in value:
        raise ResultError(f"case {name!r} has no score")
    feedback = _text(value.get("feedback"), f"feedback of case {name!r}")
    score = _number(value["score"], f"score of case {name!r}")
    return CaseScore(name, score, head(feedback, CASE_FEEDBACK_BYTES) or None)


def _measure(value: object, name: str) -> float | str:
    if not isinstance(value, str):
        return _number(value, f"measure {name!r}")
    if not value or len(value) > NAME_CHARACTERS or not value.isprintable():
        raise ResultError(f"measure {name!r} is text that is empty, too long or not printable")
    return value


def _text(value: object, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ResultError(f"{what} is {_kind(value)}, not text")
    return plain(value)


def _artifacts(value: Mapping[str, Any]) -> dict[str, str]:
    kept: dict[str, str] = {}
    room = ARTIFACTS_BYTES
    for name, item in _items(value, "artifacts"):
        if len(kept) == ARTIFACTS or room <= 0:
            break
        try:
            text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, indent=1)
        except RecursionError:
            raise ResultError(f"artifact {name!r} is nested too deeply") from None
        kept[name] = head(plain(text), min(ARTIFACT_BYTES, room))
        room -= len(kept[name].encode())
    return kept


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "a number"
