"""Pacing: what is measured reaches the widths, and the widths reach the pipeline and the requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from archives.records import Proposal
from evolve import pacing
from evolve.models.errors import Fault, FaultKind
from evolve.models.traffic import Traffic
from evolve.pacing import Pace
from evolve.pipeline import in_flight
from evolve.slots import Slots
from evolve.widths import FIRST, Answer
from evolve.workers import Workers


def paced(monkeypatch: pytest.MonkeyPatch, propose: Any = "auto", evaluate: Any = "auto") -> Any:
    """A pace on a machine with two processors that are hardly busy."""
    monkeypatch.setattr(pacing, "processors", lambda: 2)
    monkeypatch.setattr(pacing, "machine_busy", lambda: lambda: 0.1)
    monkeypatch.setattr(pacing, "memory_left", lambda: 0.9)
    run: Any = SimpleNamespace(
        config=SimpleNamespace(
            workers=SimpleNamespace(propose=propose, evaluate=evaluate),
            evaluator=SimpleNamespace(cpus=None, executor="local"),
        ),
        traffic=Traffic(),
        operators={"edit": SimpleNamespace(is_async=True)},
        bench=SimpleNamespace(slots=Slots(1)),
        wake=lambda: None,
    )
    return Pace(run)


@pytest.mark.trio
async def test_a_refusal_narrows_proposals_requests_and_what_is_in_flight_at_once(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    pace = paced(monkeypatch, evaluate=3)
    run, line = pace._run, pace.pipeline
    assert (line.propose.width, line.evaluate.width, line.room) == (FIRST, 3, in_flight(FIRST, 3))
    with pytest.raises(Fault):
        async with run.traffic.room(), run.traffic.request():
            raise Fault("slow down", "rate")
    assert (line.propose.width, line.room) == (1, in_flight(1, 3))
    assert "slow down" in line.propose.bound
    began = []

    async def one() -> None:
        async with run.traffic.room():
            began.append(trio.current_time())
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)
    assert [round(later - began[0]) for later in began] == [0, 1, 2]


@pytest.mark.trio
async def test_evaluations_that_wait_get_company_as_they_are_measured(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    pace = paced(monkeypatch, propose=4)
    run, line = pace._run, pace.pipeline
    line.evaluate.put(Proposal(1, "edit", "base", SimpleNamespace()))  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pace.watch)
        await trio.sleep(0.1)
        for _ in range(10):
            for _ in range(line.evaluate.width):
                run.measured(SimpleNamespace(seconds=1.0, cpu_seconds=0.01, attempts=1))
            await trio.sleep(1)
        assert line.evaluate.width == line.repair.width == run.bench.slots.width == 8
        assert (line.propose.width, line.propose.bound) == (4, "")
        run.measured(SimpleNamespace(seconds=1.0, cpu_seconds=0.01, attempts=2))
        await trio.sleep(1)
        assert (line.evaluate.width, line.evaluate.bound) == (6, "the evaluator could not judge")
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_widths_that_are_fixed_stay_whatever_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = paced(monkeypatch, propose=1, evaluate=1)
    for _ in range(3):
        with pytest.raises(Fault):
            async with pace._run.traffic.room(), pace._run.traffic.request():
                raise Fault("slow down", "rate")
    await pace.watch()
    line = pace.pipeline
    assert (line.propose.width, line.evaluate.width, line.room) == (1, 1, 1)


@pytest.mark.trio
@pytest.mark.parametrize(
    ("kind", "heard"), [(None, ["answered"]), ("timeout", ["timeout"]), ("server", []), ("answer", [])]
)
async def test_only_answers_and_signs_of_overload_are_heard(kind: FaultKind | None, heard: list[str]) -> None:
    traffic, answers = Traffic(), list[Answer]()
    traffic.heard = answers.append
    try:
        async with traffic.request():
            if kind is not None:
                raise Fault("trouble", kind)
    except Fault:
        pass
    assert [answer.kind for answer in answers] == heard
    assert traffic.under_way == 0


@pytest.mark.trio
async def test_workers_are_as_many_as_their_width_says_at_that_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    workers, most = Workers("evaluate", 2), []

    async def work(proposal: Proposal) -> None:
        most.append(workers.busy)
        await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.run, work)
        for number in range(12):
            workers.put(Proposal(number, "edit", "base", SimpleNamespace()))  # type: ignore[arg-type]
        await trio.sleep(0.5)
        assert workers.occupancy == {"waiting": 10, "busy": 2, "width": 2, "bound": ""}
        workers.width = 5
        await trio.sleep(0.1)
        assert (workers.busy, workers.waiting) == (5, 7)
        workers.width = 1
        await trio.sleep(20)
        assert (workers.busy, workers.waiting, max(most)) == (0, 0, 5)
        nursery.cancel_scope.cancel()
    assert workers.seconds == pytest.approx(1.0)
