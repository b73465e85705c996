from __future__ import annotations

from pathlib import Path

import pytest
from handmade import answer, evolve, handmade
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from archives.reader import Reader
from archives.records import Event
from evolve.answering.running import Watching
from evolve.ownership import own
from evolve.views.watching import bar, panel, plain, sparkline

Capture = pytest.CaptureFixture[str]


def test_what_is_added_to_a_finished_campaign_is_kept_and_shown(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path, state="finished", reason="used up")
    ran = evolve(capsys, "-C", made.root, "budget", "add", "evaluations=5")
    assert (ran.code, ran.err) == (0, "evaluations 15 (5 more); `evolve resume` goes on\n")
    assert "1 of 15 (5 added)" in ran.out
    evolve(capsys, "-C", made.root, "budget", "add", "evaluations=2")
    found = answer(capsys, made, "budget")
    assert found["budget"] == {"evaluations": {"limit": 17.0, "spent": 1.0}}
    assert (found["added"], found["state"], found["text"]) == ({"evaluations": 7.0}, "finished", "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("add", "say what to add"),
        ("raise evaluations=3", "say what to add"),
        ("add evaluations", "NAME=AMOUNT"),
        ("add evaluations=many", "no number"),
        ("add evaluations=-1", "above 0"),
        ("add evaluations=nan", "above 0"),
        ("add evaluations=1.5", "whole"),
        ("add dollars=1", "is no limit"),
        ("add wall=soon", "no time"),
        ("add proposals=3", "has no limit to add to; limited: evaluations"),
    ],
)
def test_what_cannot_be_added_is_one_line_and_exit_2(
    tmp_path: Path, capsys: Capture, words: str, says: str
) -> None:
    made = handmade(tmp_path)
    ran = evolve(capsys, "-C", made.root, "budget", *words.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert says in ran.err
    assert answer(capsys, made, "budget")["added"] == {}


def test_a_resting_campaign_can_be_paused_and_stopped(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path)
    found = answer(capsys, made, "pause")
    assert (found["done"], found["state"], found["pid"]) == (True, "paused", None)
    assert answer(capsys, made, "status")["state"] == "paused"
    assert answer(capsys, made, "stop")["state"] == "stopped"
    ran = evolve(capsys, "-C", made.root, "stop", "--now")
    assert (ran.code, ran.out) == (0, "campaign toy: nothing to stop, no orchestrator lives\n")


def test_a_finished_campaign_has_nothing_to_pause(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path, state="finished")
    ran = evolve(capsys, "-C", made.root, "pause")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert answer(capsys, made, "status")["state"] == "finished"


@pytest.mark.parametrize(
    ("settings", "state", "code"),
    [
        ({"state": "finished", "reason": "used up"}, "finished", 0),
        ({"state": "stopped", "reason": "by a person"}, "stopped", 0),
        ({"state": "stopped", "reason": "no model answers", "failed": True}, "stopped", 1),
        ({"state": "running"}, "dead", 1),
        ({"state": "running", "paused": True}, "dead", 1),
    ],
)
def test_wait_says_how_it_ended_and_runs_the_command_for_it(
    tmp_path: Path, capsys: Capture, settings: dict[str, object], state: str, code: int
) -> None:
    made = handmade(tmp_path, **settings)
    good, bad = tmp_path / "good", tmp_path / "bad"
    says = 'printf "%s|%s|%s|%s" "$EVOLVE_CAMPAIGN" "$EVOLVE_STATE" "$EVOLVE_BEST_SCORE" "$EVOLVE_CHAMPION" >'
    commands = ("--then", f"{says} {good}", "--on-failure", f"{says} {bad}")
    ran = evolve(capsys, "-C", made.root, "wait", *commands)
    assert ran.code == code
    assert ran.out.startswith(state)
    told, untold = (bad, good) if code else (good, bad)
    assert told.read_text() == f"toy|{state}|1.0|{made.commits['base']}"
    assert not untold.exists()


def test_a_command_after_the_wait_that_fails_is_a_failure(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path)
    ran = evolve(capsys, "-C", made.root, "wait", "--then", "exit 7")
    assert ran.code == 1
    assert "exit code 7" in ran.err


def test_a_reason_is_data_and_no_part_of_the_command(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path, state="finished", reason="$(touch hacked); `touch hacked`")
    out = tmp_path / "out"
    evolve(capsys, "-C", made.root, "wait", "--then", f'cd {tmp_path}; printf %s "$EVOLVE_REASON" > {out}')
    assert out.read_text() == "$(touch hacked); `touch hacked`"
    assert not (tmp_path / "hacked").exists()


def test_wait_gives_up_after_the_time_given(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path, state="running")
    mark = tmp_path / "mark"
    with own(made.home / "lock"):
        ran = evolve(capsys, "-C", made.root, "wait", "--timeout", "0.05s", "--on-failure", f"touch {mark}")
        assert (ran.code, ran.out) == (1, "")
        assert "running still" in ran.err
        assert answer(capsys, made, "status")["state"] == "running"
    assert not mark.exists()
    found = answer(capsys, handmade(tmp_path / "other", state="finished"), "wait")
    assert (found["state"], found["over"], found["failed"]) == ("finished", True, False)


def test_the_state_is_paused_while_a_paused_orchestrator_lives_and_dead_when_not(
    tmp_path: Path, capsys: Capture
) -> None:
    made = handmade(tmp_path, state="running", paused=True)
    with own(made.home / "lock"):
        assert answer(capsys, made, "status")["state"] == "paused"
    assert answer(capsys, made, "status")["state"] == "dead"


def test_logs_are_plain_lines_whatever_the_text(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path)
    made.rows += [Event("champion", f"number {n}\x1b[31m\nnext", time=1_700_000_000.0) for n in range(5)]
    made.write()
    ran = evolve(capsys, "-C", made.root, "logs", "-n", "2")
    lines = ran.out.splitlines()
    assert (ran.code, len(lines)) == (0, 2)
    assert lines[1].endswith("champion    number 4\\x1b[31m next")
    assert len(answer(capsys, made, "logs")["events"]) == 5
    assert evolve(capsys, "-C", made.root, "logs", "-n", "0").out == ""


def test_following_the_logs_of_a_campaign_that_rests_ends_at_once(tmp_path: Path, capsys: Capture) -> None:
    made = handmade(tmp_path, state="running")
    ran = evolve(capsys, "-C", made.root, "logs", "-f")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("dead: its orchestrator died")
    assert evolve(capsys, "-C", made.root, "logs", "-f", "--json").code == 2


def test_watch_without_a_terminal_is_one_line_for_a_campaign_that_rests(
    tmp_path: Path, capsys: Capture
) -> None:
    made = handmade(tmp_path, state="finished", reason="used up")
    ran = evolve(capsys, "-C", made.root, "watch")
    assert (ran.code, ran.err) == (0, "finished: used up\n")
    assert ran.out.count("\n") == 1
    assert "evaluations 1/10" in ran.out


def test_the_panel_shows_stages_curve_and_failures_and_obeys_no_text(tmp_path: Path) -> None:
    stages = {"evaluate": {"waiting": 3, "busy": 2, "width": 4, "bound": "they mostly wait"}}
    made = handmade(
        tmp_path, state="running", gauges={"in_flight": 5, "wall": 9.0, "stages": stages}, reason=""
    )
    made.add("c1", 2.0)
    made.crown("c1", "base")
    made.add("c2", None, verdict="failed", reason="[red]boom[/red]\x1b[2J")
    made.write()
    with Reader(made.home / "campaign.db") as reader:
        watching = Watching(reader, made.home)
        glance = watching.look(4711)
        made.add("c3", None, verdict="invalid", reason="late")
        made.write()
        later = watching.look(None)
    console = Console(width=80, record=True, markup=False)
    with console.capture() as capture:
        console.print(panel(glance))
    shown = capture.get()
    assert all(
        words in shown
        for words in ("toy", "running", "4711", "[red]boom[/red]\\x1b[2J", "evaluate", "mostly")
    )
    assert "in flight 5 (evaluate 2+3)" in plain(glance)
    assert (glance.baseline, glance.best) == (1.0, 2.0)
    assert [one.reason for one in later.failures] == ["[red]boom[/red]\x1b[2J", "late"]
    assert (later.state, later.in_flight, later.stages) == ("dead", 0, {})


@given(
    st.lists(st.tuples(st.integers(0, 300), st.floats(-1e9, 1e9)), max_size=20),
    st.integers(0, 300),
    st.booleans(),
)
def test_a_sparkline_fits_and_ends_at_the_champion(
    curve: list[tuple[int, float]], proposals: int, unicode: bool
) -> None:
    curve = sorted(curve)
    shown = sparkline(curve, proposals, width=30, unicode=unicode)
    assert 1 <= len(shown) <= 30
    assert shown.isascii() or unicode
    if curve and curve[-1][0] <= proposals and len({score for _, score in curve}) > 1:
        best = curve[-1][1] == max(score for _, score in curve)
        assert not best or shown[-1] == ("█" if unicode else "@") or len(set(shown)) == 1


@given(st.floats(0, 10))
def test_a_bar_has_its_width_however_much_is_spent(share: float) -> None:
    assert len(bar(share, width=24)) == 24
