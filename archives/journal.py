"""The single writer of the campaign's database.

The problem: many tasks finish things at once, each must know that its record is safe before it goes on, and
a commit costs some ten times what a row costs. SQLite has one writer at a time anyway; connections that
compete for the lock wait by sleeping, and one that is shared between threads needs a lock of ours.

The options: a transaction for each record in the caller's thread (stalls the event loop, 60 µs and more a
record); a buffer flushed by the clock (adds its period to every wait, and idles); a queue with one thread
behind it that takes whatever is waiting into one transaction. The last is this one. Alone, a record is
committed at once; under load the group grows by itself, because the next one gathers while this one is
being written. There is no delay to tune.

What a group must not do is tie the fates of strangers together. Each `submit` stands or falls alone: one
that breaks a constraint fails its own future, and the others are committed. A single statement is undone by
SQLite itself when it fails; several get a savepoint around them. Only what hits everybody (disk full, I/O
error, lock) fails the whole group. The thread outlives all of it, so the next submission simply tries
again.

WAL with `synchronous=NORMAL` loses nothing to a killed process. It may lose the last commits to a power
cut, which costs repeated work; for a paid model call it would cost money, so groups with a `Call` in them
wait for the disk (`FULL`). Rows are written with plain `sqlite3`; sqlite-utils, six times slower a row,
does the migrations.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType

from archives import database
from archives.crashpoints import reach
from archives.encoding import statement, without_surrogates
from archives.errors import JournalError
from archives.records import Call, Record
from archives.schema import migrate, version_of

_LARGEST_GROUP = 512
_LOCK_TIMEOUT = 30.0
_PRAGMAS = (
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "cache_size = -32000",
    "journal_size_limit = 67108864",
)
_OWN_FAULT = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)


@dataclass(slots=True)
class _Submission:
    records: tuple[Record, ...]
    future: Future[None]
    fault: JournalError | None = None


class Journal:
    """The campaign's database, open for writing. Only one process may hold one.

    `submit` and `write` may be called from any thread. Close it, or use it as a context manager: what was
    submitted before is still written.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._queue: SimpleQueue[_Submission | None] = SimpleQueue()
        self._door = threading.Lock()
        self._closed = False
        self._synchronous = "NORMAL"
        self._commits = 0
        self._thread = threading.Thread(target=self._serve, name="journal", daemon=True)
        self._thread.start()

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Make the database of a new campaign; one whose creation was interrupted is completed.

        Raises:
            JournalError: There is a campaign in it already, or it cannot be written.
        """
        return cls(path, _prepare(path, "rwc"))

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open the database of a campaign, brought to the newest schema.

        Raises:
            JournalError: There is none, it is newer than this program, or it cannot be written.
        """
        return cls(path, _prepare(path, "rw"))

    @property
    def commits(self) -> int:
        """Transactions committed so far; far fewer than submissions under load."""
        return self._commits

    def submit(self, *records: Record) -> Future[None]:
        """Hand over records to be written in one transaction, in this order, after all submitted before.

        A record replaces the one under the same key. Returns at once; the future is done when the records are
        safe, or holds a JournalError when none of them was written. Its callbacks run in the writer's thread
        and delay the next commit. It cannot be cancelled. Without records it is done when all before it are.
        """
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        with self._door:
            if not self._closed:
                self._queue.put(_Submission(records, future))
                return future
        future.set_exception(JournalError(f"{self.path} is closed; open the campaign again"))
        return future

    def write(self, *records: Record) -> None:
        """Write records in one transaction and wait until they are safe.

        Raises:
            JournalError: None of them was written.
        """
        self.submit(*records).result()

    def close(self) -> None:
        """Write what was submitted, then close the database. Closing twice does nothing."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        """Life of the writer's thread."""
        while group := self._gather():
            self._commit(group)
        with contextlib.suppress(sqlite3.Error):  # statistics for the planner, welcome but not needed
            self._connection.execute("PRAGMA optimize")
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _gather(self) -> list[_Submission]:
        """Wait for a submission and take along what waits behind it; empty when the journal is closed."""
        group: list[_Submission] = []
        submission = self._queue.get()
        while submission is not None:
            group.append(submission)
            if len(group) == _LARGEST_GROUP:
                return group
            try:
                submission = self._queue.get_nowait()
            except Empty:
                return group
        if group:
            self._queue.put(None)  # the end was found behind the last group; leave it for the next round
        return group

    def _commit(self, group: list[_Submission]) -> None:
        """Write a group in one transaction and tell everybody what became of theirs."""
        try:
            self._begin(group)
            for submission in group:
                submission.fault = self._apply(submission.records)
            reach("journal.before-commit")
            self._connection.execute("COMMIT")
        except Exception as error:  # whatever it was, nobody may be left waiting
            self._abandon(group, error)
        else:
            self._commits += 1
            reach("journal.after-commit")
        for submission in group:
            if submission.fault is None:
                submission.future.set_result(None)
            else:
                submission.future.set_exception(submission.fault)

    def _begin(self, group: list[_Submission]) -> None:
        paid = any(isinstance(record, Call) for submission in group for record in submission.records)
        needed = "FULL" if paid else "NORMAL"
        if needed != self._synchronous:
            self._connection.execute(f"PRAGMA synchronous = {needed}")
            self._synchronous = needed
        self._connection.execute("BEGIN IMMEDIATE")

    def _apply(self, records: tuple[Record, ...]) -> JournalError | None:
        """Write the records of one submission, all or none; the error if they could not be."""
        record: Record | None = None
        several = len(records) > 1
        try:
            if several:
                self._connection.execute("SAVEPOINT submission")
            for record in records:
                self._insert(record)
        except _OWN_FAULT as error:
            if several:
                self._connection.execute("ROLLBACK TO submission")
            fault = JournalError(f"{self.path} refused {_name(record)}: {error}")
            fault.__cause__ = error
            return fault
        finally:
            if several and self._connection.in_transaction:
                self._connection.execute("RELEASE submission")
        return None

    def _insert(self, record: Record) -> None:
        sql, values = statement(record)
        try:
            self._connection.execute(sql, values)
        except UnicodeEncodeError:
            self._connection.execute(sql, without_surrogates(values))

    def _abandon(self, group: list[_Submission], error: Exception) -> None:
        """Undo the transaction and give everybody the reason."""
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # the first error is the one to tell
                self._connection.execute("ROLLBACK")
        for submission in group:
            submission.fault = database.refusal(self.path, error, "written")
            submission.fault.__cause__ = error


def _name(record: object) -> str:
    """How to call a record in a message: its kind and its key."""
    for key in ("id", "number", "version", "name"):
        if (value := getattr(record, key, None)) is not None:
            return f"{type(record).__name__} {value}"
    return type(record).__name__


def _prepare(path: Path, mode: database.Mode) -> sqlite3.Connection:
    """A connection ready to write, its schema up to date."""
    if mode == "rw":
        database.require(path)
    connection = database.connect(path, mode, _LOCK_TIMEOUT)
    try:
        if version_of(connection, path) and mode == "rwc":
            raise JournalError(f"{path} holds a campaign already; open that one, or use another name")
        (journal_mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if journal_mode != "wal":
            raise JournalError(f"{path} lies where SQLite cannot use WAL; use `--home` with a local disk")
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        migrate(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise database.refusal(path, error, "opened") from error
    except BaseException:
        connection.close()
        raise
    return connection
