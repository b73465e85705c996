"""Read-only questions to the campaign's database, from any process, whether or not somebody writes to it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from archives import database
from archives.encoding import (
    CALLS,
    CANDIDATES,
    CHAMPIONS,
    DECISIONS,
    EVALUATIONS,
    EVENTS,
    LESSONS,
    PROMPTS,
    PROPOSALS,
    Table,
)
from archives.errors import JournalError
from archives.records import (
    PROGRAM,
    Admission,
    Call,
    Candidate,
    Champion,
    Decision,
    Evaluation,
    Event,
    Lesson,
    Look,
    Prompt,
    Proposal,
    ProposalState,
    Purpose,
    Split,
    Stub,
    Treatment,
    Verdict,
)
from archives.schema import VERSION, version_of
from archives.tallies import Cost, Counts, Replies, Stale

R = TypeVar("R", Proposal, Candidate, Evaluation, Decision, Champion, Call, Prompt, Lesson, Event)

BELIEVED = (
    "+stage = 'full' AND part IS NULL"
    " AND evaluator = coalesce((SELECT value FROM settings WHERE name = 'evaluator_version'), '1') + 0"
    " AND (split = 'search'"
    " OR id > coalesce((SELECT value FROM settings WHERE name = 'holdout_since'), '0') + 0)"
)
"""What an evaluation must be to count as a word on its candidate: in full, by the evaluator and on the
holdout that are in force. What earlier ones said stays in the journal, and is not believed."""
_LOCK_TIMEOUT = 5.0
_AT_A_TIME = 1000
_HEX = frozenset("0123456789abcdef")
_AFTER_HEX = "g"


class Reader:
    """The campaign's database, open for reading.

    Every method raises JournalError, one line, when the file cannot be read. What an iterator yields is one
    consistent state, that of its first step. Use a reader in one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        database.require(path)
        self._connection = _connect(path)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all questions asked within see the same state; be quick, for the WAL grows meanwhile."""
        with self._refusing():
            outermost = not self._connection.in_transaction
            if outermost:
                self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if outermost:
                    self._connection.execute("COMMIT")

    def setting(self, name: str, default: Any = None) -> Any:
        """Value of a setting, or `default` if it was never set."""
        rows = self._rows("SELECT value FROM settings WHERE name = ?", (name,))
        return json.loads(rows[0][0]) if rows else default

    def settings(self) -> dict[str, Any]:
        """All settings, by name."""
        rows = self._rows("SELECT name, value FROM settings ORDER BY name")
        return {name: json.loads(value) for name, value in rows}

    def candidate(self, id: str) -> Candidate | None:
        """The candidate with this whole id."""
        return next(self._select(CANDIDATES, "WHERE id = ?", (id,)), None)

    def candidates(self) -> Iterator[Candidate]:
        """All candidates, by number."""
        return self._select(CANDIDATES, "ORDER BY number")

    def find(self, prefix: str) -> list[Candidate]:
        """Candidates whose id or commit begins with `prefix`, by number; none for an empty one."""
        start = prefix.lower()
        if not start or not _HEX.issuperset(start):
            return []
        span = (start, start + _AFTER_HEX)
        where = 'WHERE id >= ? AND id < ? OR "commit" >= ? AND "commit" < ? ORDER BY number'
        return list(self._select(CANDIDATES, where, (*span, *span)))

    def proposal(self, number: int) -> Proposal | None:
        """The proposal with this number."""
        return next(self._select(PROPOSALS, "WHERE number = ?", (number,)), None)

    def proposals(
        self, state: ProposalState | None = None, candidate: str | None = None
    ) -> Iterator[Proposal]:
        """Proposals by number; only those in this state, only those that led to this candidate."""
        return self._filter(PROPOSALS, {"state": state, "candidate": candidate})

    def attempts(self, parent: str, limit: int) -> list[Proposal]:
        """The last proposals from a parent that are done, the latest first."""
        clause = "WHERE parent = ? AND state = 'done' ORDER BY number DESC LIMIT ?"
        return list(self._select(PROPOSALS, clause, (parent, limit)))

    def evaluations(
        self,
        candidate: str | None = None,
        split: Split | None = None,
        purpose: Purpose | None = None,
        every: bool = False,
    ) -> Iterator[Evaluation]:
        """Evaluations by id; only those of this candidate, split, purpose.

        Args:
            candidate: Id of a candidate.
            split: Which cases were judged.
            purpose: Why they were.
            every: Also those of earlier stages and of parts, which are no word on a candidate as a whole, and
                those that are not believed any more.
        """
        wanted = {"candidate": candidate, "split": split, "purpose": purpose}
        return self._filter(EVALUATIONS, wanted, "" if every else BELIEVED)

    def looks(self) -> Iterator[Look]:
        """Evaluations in full for the search, by id, with only what standing is made of.

        A fifth of the time that whole evaluations take.
        """
        sql = (
            "SELECT candidate, verdict, purpose, evaluator, score, measures FROM evaluations"
            f" WHERE +split = 'search' AND {BELIEVED} ORDER BY id"
        )
        with self._refusing():
            for candidate, verdict, purpose, evaluator, score, measures in self._connection.execute(sql):
                said = {} if measures == "{}" else json.loads(measures)
                yield Look(candidate, verdict, purpose, evaluator, score, said)

    def stubs(self) -> Iterator[Stub]:
        """All candidates by number, with only what is needed of each."""
        rows = self._connection.execute("SELECT id, parents, measures FROM candidates ORDER BY number")
        with self._refusing():
            while some := rows.fetchmany(_AT_A_TIME):
                ids, parents, measures = zip(*some, strict=True)
                for id, of, said in zip(ids, _all(parents), _all(measures), strict=True):
                    yield Stub(id, tuple(of), said)

    def stage_ends(self) -> dict[tuple[str, Verdict], tuple[int, float]]:
        """How often each stage as a whole came to each verdict, in how many seconds; reads an index only."""
        rows = self._rows(
            "SELECT stage, verdict, count(*), sum(seconds) FROM evaluations"
            " WHERE part IS NULL GROUP BY stage, verdict"
        )
        return {(stage, verdict): (count, seconds) for stage, verdict, count, seconds in rows}

    def gated_out(self) -> dict[str, int]:
        """Candidates that were judged at a stage and did not pass its gate, by stage."""
        rows = self._rows(
            "SELECT substr(reason, 7, instr(reason, ':') - 7), count(*) FROM evaluations"
            " WHERE stage = 'full' AND part IS NULL AND verdict = 'cancelled' AND reason LIKE 'stage %'"
            " GROUP BY 1"
        )
        return dict(rows)

    def runs(self) -> int:
        """Evaluations for which the evaluator was started."""
        return self._number("SELECT count(*) FROM evaluations WHERE attempts > 0")

    def stage_scores(self, stage: str, evaluator: int) -> list[float]:
        """Scores that one version of the evaluator gave at a stage, parts of it left out."""
        sql = "SELECT score FROM evaluations WHERE stage = ? AND part IS NULL AND verdict = 'judged'"
        return [score for (score,) in self._rows(f"{sql} AND evaluator = ?", (stage, evaluator))]

    def evaluations_after(self, id: int) -> Iterator[Evaluation]:
        """Evaluations with an id above `id`, by id."""
        return self._select(EVALUATIONS, "WHERE id > ? ORDER BY id", (id,))

    def last_evaluations(self, limit: int | None = None, candidate: str | None = None) -> list[Evaluation]:
        """The last evaluations of every kind, by id; only this candidate's."""
        where, values = ("WHERE candidate = ? ", (candidate,)) if candidate else ("", ())
        clause = f"{where}ORDER BY id DESC LIMIT {-1 if limit is None else limit}"
        return list(self._select(EVALUATIONS, clause, values))[::-1]

    def evaluations_of(self, candidate: str) -> int:
        """How many evaluations of every kind a candidate has had."""
        return self._number("SELECT count(*) FROM evaluations WHERE candidate = ?", (candidate,))

    def last_evaluation(self) -> int:
        """Highest id of an evaluation; 0 without one."""
        return self._number("SELECT coalesce(max(id), 0) FROM evaluations")

    def score(self, candidate: str) -> float | None:
        """Mean objective over evaluations in full for the search, with its own sign; None unless judged."""
        scores = [row[0] for row in self._words(candidate, "score") if row[0] is not None]
        return sum(scores) / len(scores) if scores else None

    def verdict(self, candidate: str) -> Verdict | None:
        """Judged if any evaluation in full for the search was, else the last one's; None while it waits."""
        verdicts = [row[0] for row in self._words(candidate, "verdict")]
        return "judged" if "judged" in verdicts else verdicts[-1] if verdicts else None

    def measures(self, candidate: str) -> dict[str, float | str]:
        """Measures of a candidate: built in, and reported by judged evaluations, later ones above earlier."""
        built = self._rows("SELECT measures FROM candidates WHERE id = ?", (candidate,))
        known = json.loads(built[0][0]) if built else {}
        for verdict, text in self._words(candidate, "verdict, measures"):
            known |= json.loads(text) if verdict == "judged" else {}
        return known

    def _words(self, candidate: str, columns: str) -> list[Any]:
        clause = f"candidate = ? AND split = 'search' AND {BELIEVED} ORDER BY id"
        return self._rows(f"SELECT {columns} FROM evaluations WHERE {clause}", (candidate,))

    def admissions(self) -> Iterator[Admission]:
        """What all closed proposals were worth, in the order of admission."""
        program = f"CASE WHEN model IS NOT NULL THEN json_extract(payload, '$.{PROGRAM}') END"
        columns = "admitted, number, operator, policy, parent, outcome, candidate, reward, gain, model"
        closed = "state = 'done' AND admitted IS NOT NULL"
        sql = f"SELECT {columns}, {program}, lessons FROM proposals WHERE {closed} ORDER BY admitted"
        with self._refusing():
            for row in self._connection.execute(sql):
                carried = row[-1]
                yield Admission._make([*row[:-1], None if carried is None else tuple(json.loads(carried))])

    def admitted(self, after: int = 0) -> Iterator[Proposal]:
        """Closed proposals behind a place in the order of admission, in that order."""
        clause = "WHERE state = 'done' AND admitted > ? ORDER BY admitted"
        return self._select(PROPOSALS, clause, (after,))

    def decisions(self) -> Iterator[Decision]:
        """All decisions, by id."""
        return self._select(DECISIONS, "ORDER BY id")

    def champions(self) -> Iterator[Champion]:
        """All champions, by version."""
        return self._select(CHAMPIONS, "ORDER BY version")

    def champion(self) -> Champion | None:
        """The champion that holds now."""
        return next(self._select(CHAMPIONS, "ORDER BY version DESC LIMIT 1"), None)

    def calls(self, proposal: int | None = None) -> Iterator[Call]:
        """Model calls by id; only those of this proposal."""
        return self._filter(CALLS, {"proposal": proposal})

    def calls_in_flight(self) -> Iterator[Call]:
        """Calls that were begun and not ended, by id; with no orchestrator alive they are lost."""
        return self._select(CALLS, "WHERE state = 'started' ORDER BY id")

    def calls_of_unfinished(self) -> Iterator[Call]:
        """Answered calls of proposals whose outcome is not known, by id."""
        where = "proposal IN (SELECT number FROM proposals WHERE state != 'done')"
        return self._select(CALLS, f"WHERE state = 'answered' AND {where} ORDER BY id")

    def prompt(self, id: str) -> Prompt | None:
        """The prompt with this id."""
        return next(self._select(PROMPTS, "WHERE id = ?", (id,)), None)

    def usd_of(self, proposal: int) -> float | None:
        """US dollars that the calls of a proposal cost; None where no price is known."""
        ((usd,),) = self._rows("SELECT sum(usd) FROM calls WHERE proposal = ?", (proposal,))
        return None if usd is None else float(usd)

    def spent_on_models(self) -> tuple[int, float]:
        """Tokens and dollars of all calls, those in flight and lost at the most they may cost."""
        ((tokens, usd),) = self._rows(
            "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0), coalesce(sum(usd), 0.0) FROM calls"
        )
        return tokens, usd

    def costs(self) -> list[Cost]:
        """What the calls took, by model, operator, stage and state."""
        rows = self._rows(
            "SELECT model, operator, stage, state, count(*), sum(prompt_tokens), sum(completion_tokens),"
            " sum(cached_tokens), coalesce(sum(usd), 0.0), sum(usd IS NULL), sum(seconds), max(seconds)"
            " FROM calls GROUP BY model, operator, stage, state ORDER BY model, operator, stage, state"
        )
        return [Cost(*row) for row in rows]

    def replies(self) -> Replies:
        """What became of the replies that models gave to proposals which have ended."""
        of_models = "stage = 'propose' AND state IN ('answered', 'repeated') AND error IS NULL"
        ((replies, proposals, usable, new),) = self._rows(
            "SELECT coalesce(sum(asked), 0), count(*),"
            " coalesce(sum(outcome IN ('candidate', 'duplicate')), 0),"
            " coalesce(sum(outcome = 'candidate'), 0) FROM proposals JOIN"
            f" (SELECT proposal, count(*) AS asked FROM calls WHERE {of_models} GROUP BY proposal)"
            " ON proposal = number WHERE proposals.state = 'done'"
        )
        return Replies(replies, proposals, usable, new)

    def lessons(self) -> Iterator[Lesson]:
        """All lessons, forgotten ones included, by id."""
        return self._select(LESSONS, "ORDER BY id")

    def events(self, after: int = 0) -> Iterator[Event]:
        """Events with an id above `after`, by id."""
        return self._select(EVENTS, "WHERE id > ? ORDER BY id", (after,))

    def stale(self) -> dict[Treatment, Stale]:
        """What became of the proposals whose basis had moved, by what was done about it."""
        rows = self._rows(
            "SELECT stale, count(*), coalesce(sum(gain > 0), 0),"
            " coalesce(sum(candidate IN (SELECT candidate FROM champions)), 0),"
            " total(max(gain, 0))"
            " FROM proposals WHERE stale IS NOT NULL GROUP BY stale ORDER BY stale"
        )
        return {treatment: Stale(*numbers) for treatment, *numbers in rows}

    def rebased(self) -> dict[str, str]:
        """Candidates that were put onto a newer parent, with the candidate each was made from."""
        return dict(self._rows("SELECT id, rebased_from FROM candidates WHERE rebased_from IS NOT NULL"))

    def counts(self) -> Counts:
        """How much there is of everything, in one consistent state; reads indexes only."""
        with self.snapshot():
            verdicts = dict(self._rows("SELECT verdict, count(*) FROM evaluations GROUP BY verdict"))
            states = dict(self._rows("SELECT state, count(*) FROM proposals GROUP BY state"))
            outcomes = dict(self._rows("SELECT outcome, count(*) FROM proposals GROUP BY outcome"))
            outcomes.pop(None, None)
            return Counts(
                proposals=sum(states.values()),
                candidates=self._number("SELECT count(*) FROM candidates"),
                evaluations=sum(verdicts.values()),
                counted=self._number("SELECT count(*) FROM evaluations WHERE counted = 1"),
                verdicts=verdicts,
                outcomes=outcomes,
                states=states,
                last_proposal=self._number("SELECT coalesce(max(number), 0) FROM proposals"),
                last_candidate=self._number("SELECT coalesce(max(number), -1) FROM candidates"),
                last_evaluation=self._number("SELECT coalesce(max(id), 0) FROM evaluations"),
                last_decision=self._number("SELECT coalesce(max(id), 0) FROM decisions"),
                last_champion=self._number("SELECT coalesce(max(version), -1) FROM champions"),
                last_call=self._number("SELECT coalesce(max(id), 0) FROM calls"),
                last_lesson=self._number("SELECT coalesce(max(id), 0) FROM lessons"),
                last_event=self._number("SELECT coalesce(max(id), 0) FROM events"),
            )

    def _filter(self, table: Table[R], wanted: Mapping[str, object], further: str = "") -> Iterator[R]:
        """Records whose columns have the wanted values, None meaning any, by key."""
        given: dict[str, object] = {c: value for c, value in wanted.items() if value is not None}
        conditions: list[str] = [f"{column} = ?" for column in given]
        where = " AND ".join([*conditions, further] if further else conditions)
        clause = f"WHERE {where} ORDER BY {table.key}" if where else f"ORDER BY {table.key}"
        return self._select(table, clause, tuple(given.values()))

    def _select(self, table: Table[R], clause: str, values: Sequence[object] = ()) -> Iterator[R]:
        with self._refusing():
            for row in self._connection.execute(f"{table.select} {clause}", values):
                yield table.decode(row)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self._refusing():
            return self._connection.execute(sql, values).fetchall()

    def _number(self, sql: str, values: Sequence[object] = ()) -> int:
        return int(self._rows(sql, values)[0][0])

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise database.refusal(self.path, error, "read") from error


def is_older(path: Path) -> bool:
    """Whether a database has an older schema than this program's, which `Journal.open` brings up to date."""
    try:
        with contextlib.closing(database.connect(path, "ro", _LOCK_TIMEOUT)) as connection:
            return 0 < version_of(connection, path) < VERSION
    except JournalError:
        return False


def _all(texts: Sequence[str]) -> Any:
    """Values of many JSON texts; one call for all takes a third of the time of one for each."""
    return json.loads(f"[{','.join(texts)}]")


def _connect(path: Path) -> sqlite3.Connection:
    """A connection for reading, also in a folder that cannot be written if no WAL is left over there."""
    connection = database.connect(path, "ro", _LOCK_TIMEOUT)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.OperationalError as error:
        connection.close()
        if database.code_of(error) not in ("SQLITE_CANTOPEN", "SQLITE_READONLY"):
            raise database.refusal(path, error, "read") from error
        if _has_wal(path):
            raise JournalError(
                f"{path} was not closed cleanly and its folder is read-only; copy the folder and read that"
            ) from error
        connection = database.connect(path, "ro", _LOCK_TIMEOUT, immutable=True)
    except sqlite3.Error as error:
        connection.close()
        raise database.refusal(path, error, "read") from error
    try:
        version = version_of(connection, path)
        if version == 0:
            raise JournalError(f"{path} holds no campaign yet; start one with `evolve run`")
        if version < VERSION:
            raise JournalError(f"{path} has the older schema {version}; `evolve resume` brings it up to date")
    except JournalError:
        connection.close()
        raise
    return connection


def _has_wal(path: Path) -> bool:
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0
