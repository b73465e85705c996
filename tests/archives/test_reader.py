"""A reader sees what was committed, from any process, whatever state the writer is in."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal_samples import candidate, evaluation, id_of, one_of_each, proposal

from archives.errors import JournalError
from archives.journal import Journal
from archives.reader import Reader
from archives.records import (
    Basis,
    Call,
    Candidate,
    CaseScore,
    Champion,
    Decision,
    Evaluation,
    Event,
    Proposal,
    Record,
    Setting,
)
from archives.tallies import Counts, Stale

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal.create(path) as journal:
        yield journal


@pytest.fixture
def reader(path: Path, journal: Journal) -> Iterator[Reader]:
    with Reader(path) as reader:
        yield reader


TEXT = st.text(max_size=30)
WHOLE = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ID = st.just(id_of(0))
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FACTS = st.dictionaries(TEXT, JSON, max_size=3)
NUMBERS = st.dictionaries(TEXT, FINITE, max_size=3)
MEASURES = st.dictionaries(TEXT, FINITE | TEXT, max_size=3)
RECORDS: dict[type, st.SearchStrategy[Any]] = {
    Proposal: st.builds(
        Proposal,
        number=st.just(1),
        operator=TEXT,
        parent=TEXT,
        basis=st.builds(Basis, WHOLE, WHOLE, WHOLE, WHOLE),
        policy=TEXT,
        partner=st.none() | TEXT,
        inspirations=st.lists(TEXT, max_size=3).map(tuple),
        state=st.sampled_from(["open", "made", "done"]),
        outcome=st.sampled_from([None, "candidate", "duplicate", "unchanged", "failed", "rejected"]),
        candidate=st.none() | TEXT,
        reason=st.none() | TEXT,
        summary=TEXT,
        rationale=TEXT,
        payload=FACTS,
        model=st.none() | TEXT,
        gain=st.none() | FINITE,
        reward=st.none() | FINITE,
        admitted=st.none() | WHOLE,
    ),
    Candidate: st.builds(
        Candidate,
        id=ID,
        commit=TEXT,
        number=WHOLE,
        parents=st.lists(TEXT, max_size=2).map(tuple),
        proposal=WHOLE,
        operator=TEXT,
        summary=TEXT,
        measures=MEASURES,
        changed=st.lists(TEXT, max_size=3).map(tuple),
    ),
    Evaluation: st.builds(
        Evaluation,
        id=st.just(1),
        candidate=ID,
        proposal=WHOLE,
        verdict=st.sampled_from(["judged", "failed", "invalid", "tampered", "could_not_judge", "cancelled"]),
        stage=TEXT,
        split=st.sampled_from(["search", "holdout"]),
        purpose=st.sampled_from(["search", "baseline", "confirm", "gate"]),
        seed=WHOLE,
        evaluator=WHOLE,
        score=st.none() | FINITE,
        metrics=NUMBERS,
        cases=st.lists(st.builds(CaseScore, TEXT, FINITE, st.none() | TEXT), max_size=3).map(tuple),
        measures=MEASURES,
        feedback=TEXT,
        reason=st.none() | TEXT,
        artifacts=st.dictionaries(TEXT, TEXT, max_size=3),
        seconds=FINITE,
        cpu_seconds=FINITE,
        attempts=WHOLE,
        counted=st.booleans(),
        part=st.none() | WHOLE,
    ),
    Decision: st.builds(
        Decision,
        id=st.just(1),
        challenger=ID,
        champion=ID,
        proposal=WHOLE,
        promoted=st.booleans(),
        rule=TEXT,
        reason=TEXT,
        evidence=FACTS,
    ),
    Champion: st.builds(Champion, version=st.just(0), candidate=ID, decision=st.none()),
    Call: st.builds(
        Call,
        id=st.just(1),
        proposal=WHOLE,
        model=TEXT,
        operator=TEXT,
        prompt_tokens=WHOLE,
        completion_tokens=WHOLE,
        usd=st.none() | FINITE,
        seconds=FINITE,
        error=st.none() | TEXT,
        prompt=TEXT,
        reply=TEXT,
    ),
    Event: st.builds(Event, kind=TEXT, text=TEXT, id=st.just(1), time=FINITE.filter(bool), data=FACTS),
    Setting: st.builds(Setting, name=TEXT, value=JSON),
}


def read_back(reader: Reader, record: Record) -> list[Record]:
    """What the reader says is there in the place of a record."""
    match record:
        case Proposal():
            found = reader.proposal(record.number)
            return [] if found is None else [found]
        case Candidate():
            one = reader.candidate(record.id)
            return [] if one is None else [one]
        case Evaluation():
            return list(reader.evaluations(record.candidate, every=True))
        case Decision():
            return list(reader.decisions())
        case Champion():
            return list(reader.champions())
        case Call():
            return list(reader.calls())
        case Event():
            return list(reader.events())
        case Setting():
            return [Setting(record.name, reader.setting(record.name, default="not there"))]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_record_is_read_as_it_was_written_also_over_an_older_one(
    kind: type, data: st.DataObject, journal: Journal, reader: Reader
) -> None:
    record = data.draw(RECORDS[kind])
    if kind not in (Candidate, Setting, Proposal, Call, Event):
        journal.write(candidate(0))
    journal.write(record)
    assert read_back(reader, record) == [record]


def test_an_event_without_a_time_gets_one(journal: Journal, reader: Reader) -> None:
    journal.write(Event("a", "text"), Event("a", "text", time=5.0))
    first, second = reader.events()
    assert first.time > 1_000_000_000
    assert second.time == 5.0


def test_questions_about_nothing_have_empty_answers(reader: Reader) -> None:
    assert reader.candidate("a" * 40) is None
    assert reader.proposal(1) is None
    assert reader.champion() is None
    assert reader.find("a") == []
    assert reader.settings() == {}
    assert reader.setting("state") is None
    assert reader.setting("state", "stopped") == "stopped"
    for question in (reader.candidates, reader.proposals, reader.evaluations, reader.decisions):
        assert list(question()) == []
    assert reader.counts() == Counts(0, 0, 0, 0, {}, {}, {}, 0, -1, 0, 0, -1, 0, 0, 0)


def test_everything_comes_in_the_order_of_its_number(journal: Journal, reader: Reader) -> None:
    for number in (2, 0, 1):
        journal.write(candidate(number), proposal(number + 1), evaluation(number + 1, number))
    for version in (1, 0):
        journal.write(Champion(version, id_of(version)))
    assert [one.number for one in reader.candidates()] == [0, 1, 2]
    assert [one.number for one in reader.proposals()] == [1, 2, 3]
    assert [one.id for one in reader.evaluations()] == [1, 2, 3]
    assert [one.version for one in reader.champions()] == [0, 1]
    assert reader.champion() == Champion(1, id_of(1))


def test_a_candidate_is_found_by_the_beginning_of_its_id_or_commit(journal: Journal, reader: Reader) -> None:
    ones = [
        Candidate("ab" + "0" * 38, "cd" + "0" * 38, 2, (), 0, "base", ""),
        Candidate("ab" + "1" * 38, "ab" + "2" * 38, 1, (), 0, "base", ""),
        Candidate("ac" + "1" * 38, "f" * 40, 0, (), 0, "base", ""),
    ]
    journal.write(*ones)
    assert reader.find("ab") == [ones[1], ones[0]]
    assert reader.find("AB0") == [ones[0]]
    assert reader.find("cd") == [ones[0]]
    assert reader.find("f" * 40) == [ones[2]]
    assert reader.find("ac" + "1" * 38) == [ones[2]]
    for nothing in ("", "0", "xyz", "%", "a_", "ab*", "ab" + "0" * 39):
        assert reader.find(nothing) == []


def test_proposals_and_evaluations_can_be_narrowed(journal: Journal, reader: Reader) -> None:
    journal.write(candidate(0), candidate(1, 0))
    journal.write(
        proposal(1, state="done", outcome="candidate", candidate=id_of(1)),
        proposal(2, state="done", outcome="duplicate", candidate=id_of(1)),
        proposal(3, state="open"),
    )
    journal.write(
        evaluation(1, 0, purpose="baseline"),
        evaluation(2, 1),
        evaluation(3, 1, split="holdout", purpose="gate"),
        evaluation(4, 1, purpose="gate"),
    )
    assert [one.number for one in reader.proposals("done")] == [1, 2]
    assert [one.number for one in reader.proposals("open")] == [3]
    assert [one.number for one in reader.proposals(candidate=id_of(1))] == [1, 2]
    assert [one.id for one in reader.evaluations(id_of(1))] == [2, 3, 4]
    journal.write(evaluation(5, 1, stage="smoke"), evaluation(6, 1, part=1))
    assert [one.id for one in reader.evaluations(id_of(1))] == [2, 3, 4]
    assert [one.id for one in reader.evaluations(id_of(1), every=True)] == [2, 3, 4, 5, 6]
    assert [one.id for one in reader.evaluations(id_of(1), split="search")] == [2, 4]
    assert [one.id for one in reader.evaluations(split="holdout")] == [3]
    assert [one.id for one in reader.evaluations(purpose="gate")] == [3, 4]


def test_what_became_of_stale_work_is_counted_by_what_was_done(journal: Journal, reader: Reader) -> None:
    rebased = replace(candidate(2, 1), rebased_from=id_of(0))
    journal.write(candidate(0), candidate(1, 0), rebased, Champion(0, id_of(2)))
    journal.write(
        proposal(1),
        proposal(2, stale="updated", candidate=id_of(2), gain=1.0),
        proposal(3, stale="updated", candidate=id_of(1), gain=-1.0),
        proposal(4, stale="dropped"),
    )
    assert reader.stale() == {"dropped": Stale(1, 0, 0, 0.0), "updated": Stale(2, 1, 1, 1.0)}
    assert reader.rebased() == {id_of(2): id_of(0)}


def test_events_can_be_followed(journal: Journal, reader: Reader) -> None:
    journal.write(Event("a", "1"), Event("a", "2"))
    seen = max(event.id for event in reader.events())
    journal.write(Event("a", "3"))
    assert [event.text for event in reader.events(after=seen)] == ["3"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    evaluations=st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from(["judged", "failed", "invalid"]), st.booleans())
    ),
    proposals=st.lists(
        st.tuples(
            st.integers(1, 40),
            st.sampled_from(["open", "made", "done"]),
            st.sampled_from([None, "candidate", "failed"]),
        )
    ),
)
def test_counts_are_what_counting_one_by_one_gives(
    evaluations: list[Any], proposals: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("counts") / "campaign.db"
    with Journal.create(path) as journal, Reader(path) as reader:
        journal.write(candidate(0))
        for id, verdict, counted in evaluations:
            journal.submit(evaluation(id, verdict=verdict, counted=counted))
        for number, state, outcome in proposals:
            journal.submit(proposal(number, state=state, outcome=outcome))
        journal.submit().result()
        counts = reader.counts()
        every, made = list(reader.evaluations()), list(reader.proposals())
    assert counts.candidates == 1
    assert counts.last_candidate == 0
    assert counts.evaluations == len(every)
    assert counts.counted == sum(one.counted for one in every)
    assert counts.verdicts == Counter(one.verdict for one in every)
    assert counts.last_evaluation == max((one.id for one in every), default=0)
    assert counts.proposals == len(made)
    assert counts.states == Counter(one.state for one in made)
    assert counts.outcomes == Counter(one.outcome for one in made if one.outcome is not None)
    assert counts.last_proposal == max((one.number for one in made), default=0)


def plans(reader: Reader, ask: Any) -> list[str]:
    """How SQLite goes about the queries of a question."""
    queries: list[str] = []
    reader._connection.set_trace_callback(queries.append)
    ask()
    reader._connection.set_trace_callback(None)
    found = []
    for query in queries:
        if query.startswith("SELECT"):
            found += [row[3] for row in reader._connection.execute(f"EXPLAIN QUERY PLAN {query}")]
    return found


def test_counting_reads_no_records(journal: Journal, reader: Reader) -> None:
    journal.write(*one_of_each())
    steps = [step for step in plans(reader, reader.counts) if step.startswith("SCAN")]
    assert steps
    assert all("COVERING INDEX" in step for step in steps)


def test_finding_one_does_not_look_at_all(journal: Journal, reader: Reader) -> None:
    journal.write(*one_of_each())
    for ask in (
        lambda: reader.candidate(id_of(1)),
        lambda: reader.find("ab"),
        lambda: list(reader.evaluations(id_of(1))),
        lambda: list(reader.proposals("open")),
        lambda: list(reader.proposals(candidate=id_of(1))),
        lambda: list(reader.events(after=1)),
    ):
        steps = plans(reader, ask)
        assert any(step.startswith(("SEARCH", "MULTI-INDEX")) for step in steps)
        assert not any(step.startswith("SCAN") for step in steps)


def test_a_reader_does_not_see_what_is_not_committed(path: Path, journal: Journal, reader: Reader) -> None:
    journal.write(Event("a", "1"))
    other = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO events (time, kind, text, data) VALUES (0, 'a', '2', '{}')")
        assert [event.text for event in reader.events()] == ["1"]
        other.execute("COMMIT")
    assert [event.text for event in reader.events()] == ["1", "2"]


def test_within_a_snapshot_nothing_changes(journal: Journal, reader: Reader) -> None:
    journal.write(Event("a", "1"))
    with reader.snapshot():
        before = reader.counts()
        journal.write(Event("a", "2"), Setting("state", "paused"))
        with reader.snapshot():
            assert reader.counts() == before
        assert reader.setting("state") is None
    assert reader.setting("state") == "paused"
    assert reader.counts().last_event == 2


def test_a_reader_cannot_write(reader: Reader) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._connection.execute("DELETE FROM events")


def test_reading_what_is_not_there_makes_nothing(path: Path) -> None:
    with pytest.raises(JournalError, match="there is no campaign's database at"):
        Reader(path)
    assert list(path.parent.iterdir()) == []


def test_a_database_still_without_tables_is_said_to_be_empty(path: Path) -> None:
    path.touch()
    with pytest.raises(JournalError, match="holds no campaign yet"):
        Reader(path)


def test_a_damaged_database_is_named_in_one_line(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.write(candidate(0))
        for number in range(500):
            journal.submit(evaluation(number + 1, feedback="x" * 500))
    content = bytearray(path.read_bytes())
    content[len(content) // 4 :] = b"\xff" * (len(content) - len(content) // 4)
    path.write_bytes(content)
    with (
        Reader(path) as reader,
        pytest.raises(JournalError, match=r"campaign.db cannot be read: .* it is damaged") as caught,
    ):
        list(reader.evaluations())
    assert "\n" not in str(caught.value)


def test_a_closed_reader_says_so(reader: Reader) -> None:
    reader.close()
    with pytest.raises(JournalError, match="closed"):
        reader.counts()


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that every user can reach, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


READ_ONLY = """
import os, sys
from pathlib import Path
import archives.reader
from archives.errors import JournalError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    with archives.reader.Reader(Path(sys.argv[1])) as reader:
        print(*[event.text for event in reader.events()])
except JournalError as error:
    print(error)
"""


def read_in_vain(path: Path) -> str:
    """What somebody reads, or is told, who may write neither file nor folder."""
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    command = [sys.executable, "-c", READ_ONLY, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    path.parent.chmod(0o755)
    return output.strip()


def abandoned(source: Path, target: Path, *endings: str) -> Path:
    """A copy of an open database with the given companions: what a killed writer leaves behind."""
    target.mkdir(mode=0o755)
    for ending in ("", *endings):
        shutil.copy(source.with_name(source.name + ending), target / (source.name + ending))
    return target / source.name


def test_a_finished_campaign_can_be_read_where_nothing_may_be_written(anybodys: Path) -> None:
    path = anybodys / "campaign.db"
    with Journal.create(path) as journal:
        journal.write(Event("a", "1"), Event("a", "2"))
    assert read_in_vain(path) == "1 2"


def test_a_killed_campaign_can_be_read_where_nothing_may_be_written(anybodys: Path, journal: Journal) -> None:
    journal.write(Event("a", "1"), Event("a", "2"))
    path = abandoned(journal.path, anybodys / "copy", "-wal", "-shm")
    assert read_in_vain(path) == "1 2"


def test_an_old_state_is_never_read_for_the_newest(anybodys: Path, journal: Journal) -> None:
    journal.write(Event("a", "1"), Event("a", "2"))
    path = abandoned(journal.path, anybodys / "copy", "-wal")
    assert (
        "was not closed cleanly and its folder is read-only; copy the folder and read that"
        in read_in_vain(path)
    )
    assert read_writable(path) == ["1", "2"]


def read_writable(path: Path) -> list[str]:
    for file in path.parent.iterdir():
        file.chmod(0o644)
    with Reader(path) as reader:
        return [event.text for event in reader.events()]
