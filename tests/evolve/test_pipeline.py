"""The pipeline as a whole: back-pressure from end to end, broken stages, late proposals, a frozen owner."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from caserun import alive, await_evaluations, environment
from scripted_server import Scripted, fails, says, server
from targets import TOML, config, patches, repository
from targets import evolve as command

import evolve as api
from archives.errors import StoreError
from evolve import answering, pipeline
from evolve.pipeline import in_flight
from evolve.widths import FIRST

FUNCTION = 'def evaluate(folder, request):\n    return float(open(f"{folder}/value.txt").read())\n'
STAGES = ("select", "propose", "evaluate", "challenge", "admit")
Stage = Callable[..., Any]


def target(tmp_path: Path, count: int = 7, **tables: Any) -> Any:
    """A campaign of `count` patches, each better than those before it."""
    repo = repository(tmp_path / "target", {"value.txt": "0\n", "evaluate.py": FUNCTION})
    folder = patches(repo, "value.txt", {f"p{n}": f"{n}\n" for n in range(1, count + 1)})
    tables = {"operators": {"patches": {"folder": str(folder)}}, **tables}
    return api.create(repo, config(evaluator={"function": "evaluate.py:evaluate"}, **tables))


def standing(campaign: Any) -> Any:
    """What `evolve status` says."""
    with campaign.reader() as reader:
        return answering.status(reader, campaign.home, campaign.owner())


def before(stage: str, monkeypatch: pytest.MonkeyPatch, first: Callable[[Any], Awaitable[None]]) -> None:
    """Have something happen whenever a proposal enters a stage."""
    real: Stage = getattr(pipeline, stage)

    async def wrapped(run: Any, *rest: Any) -> Any:
        await first(run)
        return await real(run, *rest)

    monkeypatch.setattr(pipeline, stage, wrapped)


@pytest.mark.parametrize("slow", STAGES[1:])
def test_no_more_is_in_flight_than_there_is_room_for_whichever_stage_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    room, seen = in_flight(4, 2), []

    async def linger(run: Any) -> None:
        await trio.sleep(0.03)
        seen.append(run.in_flight)
        assert sum(stage.waiting + stage.busy for stage in run.stages) <= room

    before(slow, monkeypatch, linger)
    campaign = target(tmp_path, 14, workers={"propose": 4, "evaluate": 2})
    assert campaign.run_sync().state == "finished"
    assert max(seen) == room


@pytest.mark.parametrize("broken", STAGES)
def test_a_broken_stage_ends_the_run_with_its_reason_and_a_later_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    campaign = target(tmp_path, workers={"propose": 3, "evaluate": 2})
    calls = 0

    def third() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StoreError(f"no room for {broken}")

    async def fail(run: Any) -> None:
        third()

    with monkeypatch.context() as patched:
        if broken == "select":
            real = pipeline.select
            patched.setattr(pipeline, "select", lambda run: third() or real(run))
        else:
            before(broken, patched, fail)
        with pytest.raises(StoreError, match=f"no room for {broken}"):
            campaign.run_sync()
    status = standing(campaign)
    assert (status.state, status.reason) == ("stopped", f"no room for {broken}")
    assert campaign.run_sync().reason == "the operators have nothing more to propose"
    with campaign.reader() as reader:
        done = list(reader.proposals("done"))
        looks = [one.candidate for one in reader.evaluations() if one.purpose == "search"]
    assert len(done) == 7
    assert len(looks) == len(set(looks)) == 7
    assert campaign.best().score == 7.0


def test_a_mistake_of_ours_is_journaled_as_the_reason_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(run: Any) -> None:
        raise ZeroDivisionError("by nothing")

    before("admit", monkeypatch, fail)
    campaign = target(tmp_path)
    with pytest.raises(ZeroDivisionError):
        campaign.run_sync()
    status = standing(campaign)
    assert (status.state, status.reason) == ("stopped", "ZeroDivisionError: by nothing")


def edit(number: int) -> Scripted:
    return says(f"Larger.\n\nvalue.txt\n```\n{number + 1}\n```\n")


def with_model(tmp_path: Path, base: str, **tables: Any) -> Any:
    repo = repository(tmp_path / "target", {"value.txt": "0\n", "evaluate.py": FUNCTION})
    tables = {
        "operators": {"edit": 1},
        "models": {"pool": [{"model": "tiny", "api_base": base}]},
        "workers": {"propose": "auto", "evaluate": 2},
        **tables,
    }
    return api.create(repo, config(evaluator={"function": "evaluate.py:evaluate"}, **tables))


def test_failed_calls_end_nothing_and_being_told_to_slow_down_lowers_the_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Semaphore(2)

    def answer(number: int) -> Scripted:
        if number % 7 == 3:
            return fails(400, "no")
        if not together.acquire(blocking=False):
            return fails(429, "slow down", Retry_After="0.1")
        try:
            threading.Event().wait(0.1)
            return edit(number)
        finally:
            together.release()

    seen_widths = set()

    async def look(run: Any) -> None:
        seen_widths.add((run.stages[0].width, run.stages[0].bound))

    before("admit", monkeypatch, look)
    with server(answer) as seen:
        campaign = with_model(tmp_path, seen.base, budget={"proposals": 24})
        ending = campaign.run_sync()
    assert (ending.state, ending.failed) == ("finished", False)
    with campaign.reader() as reader:
        assert reader.counts().proposals == 24
        errors = [call.error for call in reader.calls() if call.error]
    assert any("slow down" in error for error in errors)
    assert any(width < FIRST and "slow down" in bound for width, bound in seen_widths)
    assert standing(campaign).outcomes["failed"] > 0
    assert campaign.best().score > 0


def test_what_a_model_answers_after_the_end_of_the_time_is_kept_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4)

    def answer(number: int) -> Scripted:
        together.wait(60)
        return edit(number)

    async def time_is_up(run: Any) -> None:
        run.stop("the time is up")
        run.bench.close()

    with server(answer) as seen:
        campaign = with_model(tmp_path, seen.base, budget={"proposals": 4}, workers={"propose": 4})
        with monkeypatch.context() as patched:
            before("evaluate", patched, time_is_up)
            campaign.run_sync()
        with campaign.reader() as reader:
            assert [one.number for one in reader.proposals("made")] == [1, 2, 3, 4]
            looks = reader.counts().counted
        assert campaign.run_sync().state == "finished"
    assert len(seen.bodies) == 4
    assert campaign.best().score == 4.0
    with campaign.reader() as reader:
        assert sum(one.purpose == "search" for one in reader.evaluations()) == 4
    assert looks == 1


def test_a_frozen_owner_still_owns_and_nothing_is_counted_twice(tmp_path: Path) -> None:
    repo = repository(
        tmp_path / "target",
        {
            "value.txt": "1.0\n",
            "evaluate.py": "import time\ntime.sleep(0.05)\nprint(float(open('value.txt').read()))\n",
            "evolve.toml": TOML.format(evaluations=20),
        },
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "evolve", "run"],
        cwd=repo,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await_evaluations(repo, 3)
        run.send_signal(signal.SIGSTOP)
        second = command(repo, "run")
        assert (second.returncode, str(run.pid) in second.stderr) == (3, True)
        run.send_signal(signal.SIGCONT)
        assert run.wait(60) == 0
    finally:
        run.kill()
    status = json.loads(command(repo, "status", "--json").stdout)
    assert (status["state"], status["evaluations"]) == ("finished", 20)


SETUP = """import pathlib, time
mark = pathlib.Path({mark!r})
if mark.exists():
    pathlib.Path("made.txt").write_text("2.0")
else:
    mark.touch()
    time.sleep(60)
"""


def test_pause_and_stop_are_heard_while_the_set_up_runs_and_a_later_run_does_it_again(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    files = {
        "value.txt": "1.0\n",
        "setup.py": SETUP.format(mark=str(mark)),
        "evaluate.py": "print(float(open('value.txt').read()) * float(open('made.txt').read()))\n",
        "evolve.toml": TOML.format(evaluations=4).replace(
            "[promotion]", 'setup = "python setup.py"\n[promotion]'
        ),
    }
    repo = repository(tmp_path / "target", files)
    run = subprocess.Popen([sys.executable, "-m", "evolve", "run"], cwd=repo, env=environment())
    try:
        while not mark.exists():
            assert run.poll() is None
            time.sleep(0.02)
        assert "proposes nothing new" in command(repo, "pause").stdout
        assert command(repo, "stop").returncode == 0
        assert run.wait(30) == 0
    finally:
        run.kill()
    assert alive(str(repo)) == []
    status = json.loads(command(repo, "status", "--json").stdout)
    assert (status["state"], status["reason"]) == ("stopped", "stopped by `evolve stop`")
    assert command(repo, "resume").returncode == 0
    status = json.loads(command(repo, "status", "--json").stdout)
    assert (status["state"], status["baseline_score"]) == ("finished", 2.0)
