"""Tables of the campaign's database, their version, and the steps from each version to the next.

The version is SQLite's `user_version`, the mark that a file is ours its `application_id`; both are in the
file's header and cost no table. A step is an entry of `MIGRATIONS` and never changes once released: a new
field is a new step at the end. Each step and its version number are one transaction, so a process killed in
the middle leaves the older version behind, whole.

Tables are STRICT. What is asked for is a typed column; the rest is JSON text that SQLite has checked, so
that `json_extract` works on all of it. The wide columns come last, for SQLite reads a row only as far as it
must. The sets of words (verdicts, states, …) are kept by the types in `archives.records`, not by the
tables: a new word must not need a rebuilt table.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archives.database import refusal
from archives.errors import JournalError

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x45564F4C
"""The letters EVOL, by which `file` and we know the database."""

_FIRST_TABLES = (
    """CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE candidates (
    id TEXT NOT NULL UNIQUE,
    "commit" TEXT NOT NULL,
    number INTEGER PRIMARY KEY,
    parents TEXT NOT NULL CHECK (json_valid(parents)),
    proposal INTEGER NOT NULL,
    operator TEXT NOT NULL,
    summary TEXT NOT NULL,
    rebased_from TEXT,
    measures TEXT NOT NULL CHECK (json_valid(measures)),
    changed TEXT NOT NULL CHECK (json_valid(changed))
) STRICT""",
    """CREATE TABLE proposals (
    number INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    parent TEXT NOT NULL,
    basis TEXT NOT NULL CHECK (json_valid(basis)),
    policy TEXT NOT NULL,
    partner TEXT,
    inspirations TEXT NOT NULL CHECK (json_valid(inspirations)),
    state TEXT NOT NULL,
    outcome TEXT,
    candidate TEXT,
    reason TEXT,
    summary TEXT NOT NULL,
    rationale TEXT NOT NULL,
    payload TEXT NOT NULL CHECK (json_valid(payload)),
    model TEXT,
    gain REAL,
    reward REAL,
    admitted INTEGER,
    stale TEXT
) STRICT""",
    """CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL REFERENCES candidates (id),
    proposal INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    stage TEXT NOT NULL,
    split TEXT NOT NULL,
    purpose TEXT NOT NULL,
    seed INTEGER NOT NULL,
    evaluator INTEGER NOT NULL,
    score REAL,
    seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
    reason TEXT,
    metrics TEXT NOT NULL CHECK (json_valid(metrics)),
    measures TEXT NOT NULL CHECK (json_valid(measures)),
    cases TEXT NOT NULL CHECK (json_valid(cases)),
    feedback TEXT NOT NULL,
    artifacts TEXT NOT NULL CHECK (json_valid(artifacts))
) STRICT""",
    """CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    challenger TEXT NOT NULL REFERENCES candidates (id),
    champion TEXT NOT NULL REFERENCES candidates (id),
    proposal INTEGER NOT NULL,
    promoted INTEGER NOT NULL CHECK (promoted IN (0, 1)),
    rule TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL CHECK (json_valid(evidence))
) STRICT""",
    """CREATE TABLE champions (
    version INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL REFERENCES candidates (id),
    decision INTEGER REFERENCES decisions (id)
) STRICT""",
    """CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    proposal INTEGER NOT NULL,
    model TEXT NOT NULL,
    operator TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    usd REAL,
    seconds REAL NOT NULL,
    error TEXT,
    prompt TEXT NOT NULL,
    reply TEXT NOT NULL
) STRICT""",
    """CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT NOT NULL CHECK (json_valid(data))
) STRICT""",
)

_FIRST_INDEXES = (
    ("candidates", ("commit",)),
    ("proposals", ("state",)),
    ("proposals", ("outcome",)),
    ("proposals", ("candidate",)),
    ("proposals", ("stale",)),
    ("evaluations", ("candidate",)),
    ("evaluations", ("split", "purpose")),
    ("evaluations", ("verdict", "counted")),
    ("evaluations", ("score",)),
)

_CASE_SCORES = """
SELECT evaluations.id AS evaluation, candidate, split, purpose,
       json_extract(entry.value, '$.name') AS "case",
       json_extract(entry.value, '$.score') AS score,
       json_extract(entry.value, '$.feedback') AS feedback
FROM evaluations, json_each(evaluations.cases) AS entry
"""


def _lay_first_tables(db: Database) -> None:
    for statement in _FIRST_TABLES:
        db.execute(statement)
    for table, columns in _FIRST_INDEXES:
        db[table].create_index(columns)
    db.create_view("case_scores", _CASE_SCORES)


_CASE_SCORES_OF_WHOLE_EVALUATIONS = """
SELECT evaluations.id AS evaluation, candidate, stage, split, purpose,
       json_extract(entry.value, '$.name') AS "case",
       json_extract(entry.value, '$.score') AS score,
       json_extract(entry.value, '$.feedback') AS feedback
FROM evaluations, json_each(evaluations.cases) AS entry
WHERE part IS NULL
"""


def _let_stages_have_parts(db: Database) -> None:
    db.execute("ALTER TABLE evaluations ADD COLUMN part INTEGER")
    db["evaluations"].create_index(("stage", "part", "verdict", "seconds"))
    db.create_view("case_scores", _CASE_SCORES_OF_WHOLE_EVALUATIONS, replace=True)


_CALLS_KNOW_MORE = (
    "ALTER TABLE calls ADD COLUMN state TEXT NOT NULL DEFAULT 'answered'",
    "ALTER TABLE calls ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE calls ADD COLUMN stage TEXT NOT NULL DEFAULT 'propose'",
    "ALTER TABLE calls ADD COLUMN template TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE calls ADD COLUMN finish_reason TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE calls ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0",
    "UPDATE calls SET state = 'failed' WHERE error IS NOT NULL",
    "UPDATE calls SET stage = 'repair' WHERE operator = 'repair'",
    "CREATE INDEX idx_calls_proposal ON calls (proposal)",
    "CREATE INDEX idx_calls_started ON calls (id) WHERE state = 'started'",
    "CREATE INDEX idx_calls_costs ON calls"
    " (model, operator, stage, state, prompt_tokens, completion_tokens, cached_tokens, usd, seconds)",
    "CREATE TABLE prompts (id TEXT PRIMARY KEY, messages BLOB NOT NULL) STRICT",
)


def _keep_prompts(db: Database) -> None:
    for statement in _CALLS_KNOW_MORE:
        db.execute(statement)


def _find_attempts_by_parent(db: Database) -> None:
    db["proposals"].create_index(("parent", "state"))


_LESSONS = """CREATE TABLE lessons (
    id INTEGER PRIMARY KEY,
    claim TEXT NOT NULL,
    scope TEXT NOT NULL,
    state TEXT NOT NULL,
    model TEXT NOT NULL,
    made INTEGER NOT NULL,
    supports TEXT NOT NULL CHECK (json_valid(supports)),
    contradicts TEXT NOT NULL CHECK (json_valid(contradicts)),
    sources TEXT NOT NULL CHECK (json_valid(sources))
) STRICT"""


def _lay_lessons(db: Database) -> None:
    db.execute(_LESSONS)
    db.execute("ALTER TABLE proposals ADD COLUMN lessons TEXT CHECK (lessons IS NULL OR json_valid(lessons))")


_REBASED = (
    "CREATE INDEX idx_candidates_rebased ON candidates (id, rebased_from) WHERE rebased_from IS NOT NULL"
)


def _lay_second_tables(db: Database) -> None:
    _let_stages_have_parts(db)
    _keep_prompts(db)
    _find_attempts_by_parent(db)
    _lay_lessons(db)
    db.execute(_REBASED)


@dataclass(frozen=True, slots=True)
class Migration:
    """The step to `version` from the one before it."""

    version: int
    purpose: str
    apply: Callable[[Database], None]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "the first tables", _lay_first_tables),
    Migration(2, "parts of stages, prompts, attempts by parent, lessons", _lay_second_tables),
)

VERSION = MIGRATIONS[-1].version
"""The schema this program writes, and the newest it reads."""


def version_of(connection: sqlite3.Connection, path: Path, known: int = VERSION) -> int:
    """Version of the schema in the file; 0 for an empty one.

    Raises:
        JournalError: The file is no campaign's, is unreadable, or is of a newer version than `known`.
    """
    try:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        raise refusal(path, error) from error
    if not objects:
        return 0
    if mark != APPLICATION_ID:
        raise JournalError(f"{path} is no campaign's database; name a campaign's campaign.db")
    if version > known:
        raise JournalError(
            f"{path} was written by a newer Evolve (schema {version}, this one knows {known}); upgrade Evolve"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the file to the newest of `migrations`, one transaction a step; nothing if it is there already.

    Raises:
        JournalError: The file is not ours, newer than we know, or cannot be written.
    """
    newest = migrations[-1].version
    for step in migrations:
        if version_of(connection, path, newest) < step.version:
            _take(step, connection, path, newest)


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Let sqlite-utils think that there is no pandas, which takes long to import and is not needed."""
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["pandas"]


def _take(step: Migration, connection: sqlite3.Connection, path: Path, newest: int) -> None:
    with _without_pandas():
        from sqlite_utils import Database

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if version_of(connection, path, newest) < step.version:  # another process may have been quicker
            step.apply(db)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step.version}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise refusal(path, error, f"brought to schema {step.version} ({step.purpose})") from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
