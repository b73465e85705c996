"""Nothing acknowledged is lost, every submission stands or falls alone, and nobody is left waiting."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from journal_samples import candidate, evaluation, id_of, one_of_each, proposal

import archives.journal
from archives.errors import JournalError
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Call, Candidate, Event, Record, Setting
from archives.schema import VERSION

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal.create(path) as journal:
        yield journal


@contextlib.contextmanager
def held_back(path: Path) -> Iterator[None]:
    """Keep the writer from beginning a transaction, so that submissions gather."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


def texts(path: Path) -> list[str]:
    with Reader(path) as reader:
        return [event.text for event in reader.events()]


def test_what_is_written_is_there_for_a_reader(path: Path, journal: Journal) -> None:
    journal.write(candidate(0), evaluation(1))
    with Reader(path) as reader:
        assert list(reader.candidates()) == [candidate(0)]
        assert list(reader.evaluations()) == [evaluation(1)]


def test_a_record_under_a_known_key_replaces_the_old_one(path: Path, journal: Journal) -> None:
    journal.write(candidate(0), proposal(1), Setting("state", "running"))
    journal.write(proposal(1, state="made", candidate=id_of(0)), Setting("state", "paused"))
    journal.write(evaluation(1), evaluation(1, verdict="failed", score=None))
    with Reader(path) as reader:
        assert [proposal.state for proposal in reader.proposals()] == ["made"]
        assert [evaluation.verdict for evaluation in reader.evaluations()] == ["failed"]
        assert reader.settings() == {"state": "paused"}


def test_events_without_a_number_get_the_next_one_in_order_of_submission(
    path: Path, journal: Journal
) -> None:
    journal.write(Event("a", "1"), Event("a", "2"))
    journal.write(Event("a", "9", id=9))
    journal.write(Event("a", "10"))
    with Reader(path) as reader:
        assert [(event.id, event.text) for event in reader.events()] == [
            (1, "1"),
            (2, "2"),
            (9, "9"),
            (10, "10"),
        ]


def test_waiting_submissions_share_one_transaction(path: Path, journal: Journal) -> None:
    journal.write(candidate(0))
    before = journal.commits
    with held_back(path):
        futures = [journal.submit(Event("n", str(number))) for number in range(300)]
    for future in futures:
        future.result()
    assert journal.commits - before <= 2  # the first may have been taken alone, before the rest arrived


def test_the_order_of_each_thread_is_kept(path: Path, journal: Journal) -> None:
    def submit(name: int) -> None:
        for number in range(100):
            journal.submit(Event(str(name), str(number)))

    threads = [threading.Thread(target=submit, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.submit().result()
    with Reader(path) as reader:
        events = list(reader.events())
    assert len(events) == 400
    for name in range(4):
        assert [int(event.text) for event in events if event.kind == str(name)] == list(range(100))


BAD: list[tuple[str, Record]] = [
    ("the candidate is unknown", evaluation(1, of=5)),
    ("a number is taken", Candidate("f" * 40, "f" * 40, 0, (), 1, "tune", "")),
    ("not a number", evaluation(1, score=float("nan"))),
    ("infinite", evaluation(1, metrics={"ms": float("inf")})),
    ("no JSON", Setting("x", {"y": object()})),
    ("too large a number", evaluation(1, seed=2**63)),
    ("wrong type", evaluation(1, seed="many")),
    ("a required field is missing", evaluation(1, feedback=None)),
]


@pytest.mark.parametrize("bad", [pytest.param(record, id=name) for name, record in BAD])
def test_a_bad_submission_fails_alone(path: Path, journal: Journal, bad: Record) -> None:
    journal.write(candidate(0))
    with held_back(path):
        good = journal.submit(Event("n", "before"))
        alone = journal.submit(bad)
        pair = journal.submit(Event("n", "must not stay"), bad)
        pair_reversed = journal.submit(bad, Event("n", "must not stay"))
        later = journal.submit(Event("n", "after"), Event("n", "after too"))
    for future in (alone, pair, pair_reversed):
        with pytest.raises(JournalError, match=r"campaign.db refused (Evaluation|Candidate|Setting)"):
            future.result()
    good.result()
    later.result()
    assert texts(path) == ["before", "after", "after too"]
    with Reader(path) as reader:
        assert list(reader.candidates()) == [candidate(0)]
        assert list(reader.evaluations()) == []


def test_what_is_no_record_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="str is no kind of record"):
        journal.write("text")  # type: ignore[arg-type]


def test_nesting_without_end_is_refused(path: Path, journal: Journal) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(JournalError, match="refused Setting x"):
        journal.write(Setting("x", deep))
    journal.write(Event("n", "after"))
    assert texts(path) == ["after"]


def test_model_calls_wait_for_the_disk_and_others_do_not(journal: Journal) -> None:
    statements: list[str] = []
    journal.write(Event("n", "1"))
    journal._connection.set_trace_callback(statements.append)
    journal.write(Call(1, 1, "m", "edit"))
    journal.write(Call(2, 1, "m", "edit"))
    journal.write(Event("n", "2"))
    frame = [text for text in statements if not text.startswith("INSERT")]
    assert frame == [
        "PRAGMA synchronous = FULL",
        *("BEGIN IMMEDIATE", "COMMIT"),
        *("BEGIN IMMEDIATE", "COMMIT"),
        "PRAGMA synchronous = NORMAL",
        *("BEGIN IMMEDIATE", "COMMIT"),
    ]


def test_closing_writes_what_was_submitted(path: Path) -> None:
    journal = Journal.create(path)
    futures = [journal.submit(Event("n", str(number))) for number in range(2000)]
    journal.close()
    journal.close()
    assert all(future.done() and future.exception() is None for future in futures)
    assert not path.with_name("campaign.db-wal").exists()
    assert texts(path) == [str(number) for number in range(2000)]


def test_a_submission_after_closing_fails_instead_of_hanging(path: Path) -> None:
    journal = Journal.create(path)
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        journal.write(Event("n", "late"))


def test_a_callback_may_close_the_journal(path: Path) -> None:
    journal = Journal.create(path)
    closed = threading.Event()

    def close(_: Future[None]) -> None:
        journal.close()
        closed.set()

    journal.submit(Event("n", "1")).add_done_callback(close)
    assert closed.wait(30)
    journal.close()
    assert texts(path) == ["1"]


def test_a_submission_cannot_be_cancelled(path: Path, journal: Journal) -> None:
    with held_back(path):
        future = journal.submit(Event("n", "1"))
        assert not future.cancel()
    future.result()
    assert texts(path) == ["1"]


def test_a_full_disk_fails_the_group_and_the_next_one_works_when_there_is_room(
    path: Path, journal: Journal
) -> None:
    journal.write(candidate(0))
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(3):
        with pytest.raises(JournalError) as caught:
            journal.write(Event("n", "x" * 100_000))
        assert "campaign.db cannot be written: database or disk is full; free some space" in str(caught.value)
    journal._connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
    journal.write(Event("n", "after"))
    assert texts(path) == ["after"]


def test_a_failing_write_to_the_file_fails_plainly_and_heals(path: Path) -> None:
    """A process whose files may not grow any further, until they may again."""
    Journal.create(path).close()
    child = run_python(
        f"""
import resource
from pathlib import Path
from archives.errors import JournalError
from archives.journal import Journal
from archives.records import Event

journal = Journal.open(Path({str(path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
written = 0
while True:
    try:
        journal.write(Event("n", "x" * 20_000))
    except JournalError as error:
        print(error)
        break
    written += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.write(Event("n", "after"))
journal.close()
print(written)
"""
    )
    message, written = child.stdout.splitlines()
    assert "campaign.db cannot be written: " in message
    assert len(texts(path)) == int(written) + 1
    assert integrity(path) == "ok"


def test_a_lock_held_by_another_program_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives.journal, "_LOCK_TIMEOUT", 0.01)
    with Journal.create(path) as journal:
        with held_back(path), pytest.raises(JournalError, match="locked; another program holds it"):
            journal.write(Event("n", "1"))
        journal.write(Event("n", "2"))
    assert texts(path) == ["2"]


def test_an_error_nobody_foresaw_is_handed_over_and_the_writer_lives(
    path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(archives.journal, "statement", fail)
        with pytest.raises(JournalError, match="cannot be written: MemoryError"):
            journal.write(Event("n", "1"))
    journal.write(Event("n", "2"))
    assert texts(path) == ["2"]


def test_half_a_character_from_a_file_name_survives(path: Path, journal: Journal) -> None:
    odd = "caf\udce9.py"
    journal.write(candidate(0), proposal(1, payload={"path": odd, odd: [odd, "\\" + odd]}, summary=odd))
    with Reader(path) as reader:
        read = reader.proposal(1)
    assert read is not None
    assert read.payload == {"path": odd, odd: [odd, "\\" + odd]}
    assert read.summary == "caf\\udce9.py"


def test_creating_over_a_campaign_is_refused(path: Path) -> None:
    Journal.create(path).close()
    with pytest.raises(JournalError, match="holds a campaign already"):
        Journal.create(path)


def test_an_interrupted_creation_is_completed(path: Path) -> None:
    path.touch()
    with Journal.create(path) as journal:
        journal.write(*one_of_each())
    assert integrity(path) == "ok"


def test_opening_what_is_not_there_makes_nothing(path: Path) -> None:
    with pytest.raises(JournalError, match="there is no campaign's database at"):
        Journal.open(path)
    assert not path.exists()


def test_a_name_with_characters_of_a_url_is_only_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory#100%25" / "ä.db"
    path.parent.mkdir()
    with Journal.create(path) as journal:
        journal.write(Event("n", "1"))
    assert path.is_file()
    assert texts(path) == ["1"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVOLVE_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )


def writer(path: Path, first: int, count: int, in_flight: int, **more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        str(HERE / "journal_writer.py"),
        str(path),
        str(first),
        str(count),
        str(in_flight),
    ]
    return subprocess.Popen(command, env=environment(**more), stdout=subprocess.PIPE, text=True)


def integrity(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def with_base(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.write(Candidate("b" * 40, "c" * 40, 0, (), 0, "base", ""))


def pairs(path: Path) -> list[int]:
    """Numbers of the pairs that are there, having seen that each is there whole and once."""
    with Reader(path) as reader:
        evaluations = [evaluation.id for evaluation in reader.evaluations()]
        assert [int(event.text) for event in reader.events()] == evaluations
    assert len(set(evaluations)) == len(evaluations)
    return evaluations


def test_a_killed_writer_loses_nothing_it_acknowledged(path: Path) -> None:
    with_base(path)
    chance = random.Random(5)
    acknowledged: list[int] = []
    for _ in range(6):
        first = max(pairs(path), default=0) + 1
        process = writer(path, first, 1_000_000, in_flight=chance.choice([1, 5, 50]))
        assert process.stdout is not None
        for _ in range(chance.randrange(1, 1500)):
            acknowledged.append(int(process.stdout.readline()))
        process.kill()
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
        process.wait()
        process.stdout.close()
        there = pairs(path)  # read from the WAL the dead left behind
        assert set(acknowledged) <= set(there)
        assert there == list(range(1, len(there) + 1))
    assert integrity(path) == "ok"


@pytest.mark.parametrize(("name", "there"), [("journal.before-commit", 4), ("journal.after-commit", 5)])
def test_a_crash_around_a_commit_leaves_all_of_it_or_nothing(
    path: Path, tmp_path: Path, name: str, there: int
) -> None:
    with_base(path)
    log = tmp_path / "crash.log"
    process = writer(path, 1, 10, in_flight=1, EVOLVE_CRASH_AT=f"{name}:5", EVOLVE_CRASH_LOG=str(log))
    output, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert log.read_text() == f"{name}\n"
    assert output.split() == ["1", "2", "3", "4"]
    assert pairs(path) == list(range(1, there + 1))
    with Journal.open(path) as journal:
        journal.write(Event("n", "on we go"))
    assert integrity(path) == "ok"


def test_a_wal_cut_anywhere_holds_whole_submissions_in_order(path: Path, tmp_path: Path) -> None:
    """What a power cut may leave: some last part of the WAL never reached the disk."""
    with Journal.create(path) as journal:
        journal.write(candidate(0))
        for number in range(1, 60):
            journal.write(evaluation(number, feedback="x" * 500), Event("evaluated", str(number)))
        files = [path.with_name(path.name + ending) for ending in ("", "-wal")]
        database, wal = (file.read_bytes() for file in files)
    chance = random.Random(3)
    found = set()
    for cut in (0, len(wal), *(chance.randrange(len(wal)) for _ in range(40))):
        torn = tmp_path / f"torn-{cut}.db"
        torn.write_bytes(database)
        torn.with_name(torn.name + "-wal").write_bytes(wal[:cut])
        found.add(len(pairs(torn)) if is_laid_out(torn) else 0)
        assert integrity(torn) == "ok"
    assert {0, 59} < found


def is_laid_out(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("PRAGMA user_version").fetchone()[0] == VERSION)


def test_a_crash_point_that_is_not_named_costs_nothing(path: Path, tmp_path: Path) -> None:
    with_base(path)
    log = tmp_path / "crash.log"
    process = writer(path, 1, 10, in_flight=1, EVOLVE_CRASH_AT="somewhere-else", EVOLVE_CRASH_LOG=str(log))
    output, _ = process.communicate()
    assert process.returncode == 0
    assert len(output.split()) == 10
    assert not log.exists()
