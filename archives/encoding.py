"""Records as rows and back: for each kind of record its table, its columns, and what is JSON.

Column names are field names; the order is the table's. Plain fields are bound as they are. Not-a-number and
the infinities are refused everywhere, because SQLite would silently turn the first into NULL.
"""

from __future__ import annotations

import json
import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Generic, TypeVar

from archives.records import (
    Basis,
    Call,
    Candidate,
    CaseScore,
    Champion,
    Decision,
    Evaluation,
    Event,
    Lesson,
    Prompt,
    Proposal,
    Record,
    Setting,
)

R = TypeVar("R", Proposal, Candidate, Evaluation, Decision, Champion, Call, Prompt, Lesson, Event, Setting)
Row = Sequence[Any]
Code = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _plain(value: object) -> object:
    """What `json` cannot take by itself: other mappings than `dict`."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")


dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def _dump_mapping(value: Mapping[str, Any]) -> str:
    return dumps(value) if value else "{}"


def _load_mapping(text: str) -> Any:
    return {} if text == "{}" else json.loads(text)


def _dump_list(value: Sequence[Any]) -> str:
    return dumps(value) if value else "[]"


def _load_list(text: str) -> tuple[Any, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _dump_basis(basis: Basis) -> str:
    return dumps(
        {
            "champion": basis.champion,
            "archive": basis.archive,
            "lessons": basis.lessons,
            "evaluator": basis.evaluator,
        }
    )


def _load_basis(text: str) -> Basis:
    return Basis(**json.loads(text))


def _dump_cases(cases: Sequence[CaseScore]) -> str:
    if not cases:
        return "[]"
    return dumps(
        [
            {"name": case.name, "score": case.score}
            if case.feedback is None
            else {"name": case.name, "score": case.score, "feedback": case.feedback}
            for case in cases
        ]
    )


def _load_cases(text: str) -> tuple[CaseScore, ...]:
    return () if text == "[]" else tuple(CaseScore(**entry) for entry in json.loads(text))


def _dump_messages(messages: Sequence[Mapping[str, str]]) -> bytes:
    return zlib.compress(json.dumps([dict(message) for message in messages]).encode(), 1)


def _load_messages(packed: bytes) -> tuple[dict[str, str], ...]:
    return tuple(json.loads(zlib.decompress(packed)))


def _dump_real(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    return value


def _same(value: Any) -> Any:
    return value


MAPPING: Code = (_dump_mapping, _load_mapping)
LIST: Code = (_dump_list, _load_list)
OPTIONAL: Code = (
    lambda value: None if value is None else _dump_list(value),
    lambda text: None if text is None else _load_list(text),
)
BASIS: Code = (_dump_basis, _load_basis)
CASES: Code = (_dump_cases, _load_cases)
JSON: Code = (dumps, json.loads)
MESSAGES: Code = (_dump_messages, _load_messages)
REAL: Code = (_dump_real, _same)
FLAG: Code = (int, bool)
AUTONUMBER: Code = (lambda number: number or None, _same)
AUTOTIME: Code = (lambda moment: _dump_real(moment or time.time()), _same)


@dataclass(slots=True)
class Table(Generic[R]):
    """Where records of one kind are kept.

    Attributes:
        name: Name of the table.
        kind: Class of the record.
        key: Column under which writing again replaces.
        layout: Names of all columns, in the order of the table.
        codes: How the columns that are not bound as they are become text or numbers, and back.
        columns: The names one by one.
        upsert: Statement that writes a row.
        select: Start of a statement that reads rows.
    """

    name: str
    kind: type[R]
    key: str
    layout: str
    codes: Mapping[str, Code]
    columns: tuple[str, ...] = field(init=False)
    upsert: str = field(init=False)
    select: str = field(init=False)
    _values: Callable[[R], tuple[Any, ...]] = field(init=False)
    _dumps: tuple[tuple[int, Callable[[Any], Any]], ...] = field(init=False)
    _loads: tuple[tuple[str, Callable[[Any], Any]], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = tuple(self.layout.split())
        names = ", ".join(f'"{column}"' for column in self.columns)
        marks = ", ".join("?" for _ in self.columns)
        changes = ", ".join(f'"{c}" = excluded."{c}"' for c in self.columns if c != self.key)
        self.upsert = (
            f"INSERT INTO {self.name} ({names}) VALUES ({marks}) "
            f"ON CONFLICT ({self.key}) DO UPDATE SET {changes}"
        )
        self.select = f"SELECT {names} FROM {self.name}"
        self._values = attrgetter(*self.columns)
        self._dumps = tuple((self.columns.index(column), code[0]) for column, code in self.codes.items())
        self._loads = tuple((column, code[1]) for column, code in self.codes.items() if code[1] is not _same)

    def encode(self, record: R) -> list[Any]:
        """The record as values to bind to `upsert`.

        Raises:
            TypeError: A value that JSON or SQLite does not know.
            ValueError: A number that is not finite.
        """
        values = list(self._values(record))
        for position, dump in self._dumps:
            values[position] = dump(values[position])
        return values

    def decode(self, row: Row) -> R:
        """The record of a row that `select` returned."""
        values = dict(zip(self.columns, row, strict=True))
        for column, load in self._loads:
            values[column] = load(values[column])
        return self.kind(**values)


PROPOSALS = Table(
    "proposals",
    Proposal,
    "number",
    """number operator parent basis policy partner inspirations state outcome candidate reason summary
    rationale payload model gain reward admitted stale lessons""",
    {
        "basis": BASIS,
        "inspirations": LIST,
        "payload": MAPPING,
        "gain": REAL,
        "reward": REAL,
        "lessons": OPTIONAL,
    },
)
CANDIDATES = Table(
    "candidates",
    Candidate,
    "id",
    "id commit number parents proposal operator summary rebased_from measures changed",
    {"parents": LIST, "measures": MAPPING, "changed": LIST},
)
EVALUATIONS = Table(
    "evaluations",
    Evaluation,
    "id",
    """id candidate proposal verdict stage split purpose seed evaluator score seconds cpu_seconds attempts
    counted reason metrics measures cases feedback artifacts part""",
    {
        "score": REAL,
        "seconds": REAL,
        "cpu_seconds": REAL,
        "counted": FLAG,
        "metrics": MAPPING,
        "measures": MAPPING,
        "cases": CASES,
        "artifacts": MAPPING,
    },
)
DECISIONS = Table(
    "decisions",
    Decision,
    "id",
    "id challenger champion proposal promoted rule reason evidence",
    {"promoted": FLAG, "evidence": MAPPING},
)
CHAMPIONS = Table("champions", Champion, "version", "version candidate decision", {})
CALLS = Table(
    "calls",
    Call,
    "id",
    """id proposal model operator prompt_tokens completion_tokens usd seconds error prompt reply state attempt
    stage template finish_reason cached_tokens""",
    {"usd": REAL, "seconds": REAL},
)
PROMPTS = Table("prompts", Prompt, "id", "id messages", {"messages": MESSAGES})
LESSONS = Table(
    "lessons",
    Lesson,
    "id",
    "id claim scope state model made supports contradicts sources",
    {"supports": LIST, "contradicts": LIST, "sources": LIST},
)
EVENTS = Table(
    "events",
    Event,
    "id",
    "id time kind text data",
    {"id": AUTONUMBER, "time": AUTOTIME, "data": MAPPING},
)
SETTINGS = Table("settings", Setting, "name", "name value", {"value": JSON})

TABLES: dict[type, Table[Any]] = {
    table.kind: table
    for table in (
        *(PROPOSALS, CANDIDATES, EVALUATIONS, DECISIONS, CHAMPIONS),
        *(CALLS, PROMPTS, LESSONS, EVENTS, SETTINGS),
    )
}


def statement(record: Record) -> tuple[str, list[Any]]:
    """The statement that writes `record`, and the values to bind to it.

    Raises:
        TypeError: It is no record, or holds a value that JSON does not know.
        ValueError: It holds a number that is not finite.
    """
    table = TABLES.get(type(record))
    if table is None:
        raise TypeError(f"{type(record).__name__} is no kind of record")
    return table.upsert, table.encode(record)


def without_surrogates(values: Sequence[Any]) -> list[Any]:
    """The same values with lone surrogates, which SQLite refuses, written as backslash escapes.

    In JSON that is the escape for the very same character, so it is read back unchanged; plain text keeps it
    visible.
    """
    return [
        value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for value in values
    ]
