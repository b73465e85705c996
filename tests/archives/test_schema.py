"""Databases of every released schema open in the newest; what is not ours is left alone."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from journal_samples import one_of_each

from archives.database import connect
from archives.encoding import TABLES
from archives.errors import JournalError
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Event
from archives.schema import MIGRATIONS, VERSION, Migration, migrate, version_of

DUMPS = sorted((Path(__file__).parent / "data").glob("schema-*.sql"))


def restored(dump: Path, path: Path) -> Path:
    """A database as an earlier version of the program left it."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    return path


def shape(path: Path) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
        ).fetchall()


def marks(path: Path) -> tuple[Any, ...]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return tuple(
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )


def test_versions_are_counted_from_one_without_gaps() -> None:
    assert [step.version for step in MIGRATIONS] == list(range(1, VERSION + 1))


def test_there_is_a_database_of_every_released_schema() -> None:
    assert [dump.name for dump in DUMPS] == [f"schema-{version}.sql" for version in range(1, VERSION + 1)]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_an_old_database_opens_with_all_its_records(dump: Path, tmp_path: Path) -> None:
    old = restored(dump, tmp_path / "old.db")
    fresh = tmp_path / "fresh.db"
    Journal.open(old).close()
    with Journal.create(fresh) as journal:
        journal.write(*one_of_each())
    with Reader(old) as old_reader, Reader(fresh) as fresh_reader:
        for question in (
            "candidates",
            "proposals",
            "evaluations",
            "decisions",
            "champions",
            "calls",
            "events",
        ):
            found = list(getattr(old_reader, question)())
            assert found == list(getattr(fresh_reader, question)())
            assert found
        assert old_reader.settings() == fresh_reader.settings()
    assert sorted(shape(old)) == sorted(shape(fresh))
    assert marks(old) == marks(fresh)


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_field_of_a_record_has_its_column(kind: type, tmp_path: Path) -> None:
    path = tmp_path / "campaign.db"
    Journal.create(path).close()
    table = TABLES[kind]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table.name})")]
        assert connection.execute("SELECT strict FROM pragma_table_list(?)", (table.name,)).fetchone() == (1,)
    assert list(table.columns) == columns
    assert sorted(columns) == sorted(field.name for field in fields(kind))


def _add_mood(db: Any) -> None:
    db["events"].add_column("mood", str)


def _fail_half_way(db: Any) -> None:
    db["events"].add_column("tempo", str)
    db.execute("INSERT INTO nowhere VALUES (1)")


def test_a_step_is_taken_once(tmp_path: Path) -> None:
    path = restored(DUMPS[0], tmp_path / "campaign.db")
    steps = (MIGRATIONS[0], Migration(2, "events have a mood", _add_mood))
    for _ in range(2):
        with contextlib.closing(connect(path, "rw", 5)) as connection:
            migrate(connection, path, steps)
            assert version_of(connection, path, 2) == 2
            assert connection.execute("SELECT text, mood FROM events WHERE id = 1").fetchone() == (
                "The campaign begins",
                None,
            )


def test_a_step_that_fails_leaves_the_version_before_it_whole(tmp_path: Path) -> None:
    path = restored(DUMPS[0], tmp_path / "campaign.db")
    steps = (
        MIGRATIONS[0],
        Migration(2, "events have a mood", _add_mood),
        Migration(3, "events have a tempo", _fail_half_way),
    )
    with contextlib.closing(connect(path, "rw", 5)) as connection:
        with pytest.raises(
            JournalError, match=r"cannot be brought to schema 3 \(events have a tempo\): no such table"
        ):
            migrate(connection, path, steps)
        assert version_of(connection, path, 3) == 2
        columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    assert "mood" in columns
    assert "tempo" not in columns


def test_a_newer_schema_is_refused_in_one_line_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "campaign.db"
    Journal.create(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    for attempt in (Journal.open, Journal.create, Reader):
        with pytest.raises(
            JournalError, match=r"was written by a newer Evolve .*; upgrade Evolve$"
        ) as caught:
            attempt(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    for attempt in (Journal.open, Journal.create, Reader):
        with pytest.raises(JournalError, match="is no campaign's database"):
            attempt(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one " * 100)
    for attempt in (Journal.open, Journal.create, Reader):
        with pytest.raises(JournalError, match="file is not a database; it is no SQLite database"):
            attempt(path)


def test_an_up_to_date_database_opens_without_loading_sqlite_utils(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "campaign.db"
    Journal.create(path).close()
    monkeypatch.setitem(sys.modules, "sqlite_utils", None)
    with Journal.open(path) as journal:
        journal.write(Event("n", "1"))


def test_case_scores_can_be_asked_for_in_sql(tmp_path: Path) -> None:
    path = tmp_path / "campaign.db"
    with Journal.create(path) as journal:
        journal.write(*one_of_each())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute('SELECT evaluation, "case", score, feedback FROM case_scores').fetchall()
    assert rows == [(2, "q1", 1.0, None), (2, "q2", 0.0, "expected 3 rows")]
