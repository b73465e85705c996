"""Runs of one evaluation: side by side where there is room, cut short, doubled; on virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from archives.records import Candidate
from evaluators.contract import Outcome, Request
from evolve.bench import Closed
from evolve.parts import Pace, Parts
from evolve.slots import Slots

CANDIDATE = Candidate("a" * 40, "b" * 40, 1, (), 1, "tune", "")


class Stand:
    """A bench on which each case takes the seconds that its name says."""

    def __init__(self, width: int) -> None:
        self.slots = Slots(width)
        self.begun: list[str] = []
        self.closed = False
        self.stalls: dict[str, float] = {}

    async def judge(
        self, candidate: Candidate, request: Request, purpose: str, timeout: float, begun: Callable[[], None]
    ) -> Outcome:
        assert request.cases is not None
        async with self.slots.hold(purpose):
            if self.closed:
                raise Closed
            begun()
            name = request.cases[0]
            self.begun.append(name)
            before = trio.current_time()
            await trio.sleep(self.stalls.pop(name, float(name)))
            return Outcome("judged", 1.0, seconds=trio.current_time() - before)


class Settled:
    """Keeps what came of each part, and stops at one of them."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.rows: list[tuple[int, str, float]] = []
        self.stop_at = stop_at

    async def __call__(self, part: int, found: Outcome) -> str | None:
        await trio.lowlevel.checkpoint()
        self.rows.append((part, found.verdict, round(found.seconds, 6)))
        return "decided" if part == self.stop_at and found.verdict == "judged" else None


def parts(stand: Stand, seconds: list[float], settled: Settled, **more: Any) -> Parts:
    requests = [Request(CANDIDATE.id, cases=(str(one),)) for one in seconds]
    return Parts(stand, CANDIDATE, requests, "search", 60.0, settled, **more)  # type: ignore[arg-type]


@pytest.mark.trio
async def test_with_room_all_run_side_by_side(autojump_clock: trio.testing.MockClock) -> None:
    stand, settled = Stand(4), Settled()
    await parts(stand, [3, 1, 2, 4], settled).run()
    assert trio.current_time() == pytest.approx(4, abs=0.5)
    assert sorted(settled.rows) == [(0, "judged", 3), (1, "judged", 1), (2, "judged", 2), (3, "judged", 4)]


@pytest.mark.trio
async def test_without_room_each_candidate_goes_one_run_after_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    stand = Stand(2)

    async def hog() -> None:
        async with stand.slots.hold("gate"):
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hog)
        nursery.start_soon(hog)
        await trio.sleep(0.5)
        for name in ("2", "2.5", "3"):
            nursery.start_soon(parts(stand, [float(name)] * 2, Settled()).run)
    # Six runs on two slots: nobody's second run began before everybody's first.
    assert set(stand.begun[:3]) == {"2.0", "2.5", "3.0"}


@pytest.mark.trio
async def test_what_is_not_needed_is_cancelled_with_its_time_or_never_begun(
    autojump_clock: trio.testing.MockClock,
) -> None:
    stand, settled = Stand(2), Settled(stop_at=1)
    await parts(stand, [50, 1, 60, 70], settled).run()
    assert settled.rows == [(1, "judged", 1), (0, "cancelled", 1)]
    assert stand.begun == ["50", "1"] or sorted(stand.begun) == ["1", "50"]
    assert (stand.slots.held, stand.slots.waiting) == (0, 0)


@pytest.mark.trio
async def test_a_straggler_is_started_again_in_a_spare_slot_and_the_first_to_end_counts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pace = Pace()
    for _ in range(30):
        pace.note(1.0)
    stand, settled, paid = Stand(2), Settled(), [0]

    def afford() -> bool:
        paid[0] += 1
        return True

    stand.stalls = {"1": 500.0}  # the first copy hangs
    await parts(stand, [1], settled, pace=pace, afford=afford).run()
    assert settled.rows == [(0, "judged", 1), (0, "cancelled", 2)]
    assert paid == [1]


@pytest.mark.trio
async def test_nothing_is_started_again_without_money_or_experience(
    autojump_clock: trio.testing.MockClock,
) -> None:
    known = Pace()
    for _ in range(30):
        known.note(1.0)
    for pace, afford in ((known, False), (Pace(), True)):
        stand, settled = Stand(2), Settled()
        await parts(stand, [9], settled, pace=pace, afford=lambda ok=afford: ok).run()
        assert settled.rows == [(0, "judged", 9)]


@pytest.mark.trio
async def test_a_closed_bench_lets_what_runs_end_and_says_so(autojump_clock: trio.testing.MockClock) -> None:
    stand, settled = Stand(1), Settled()
    async with trio.open_nursery() as nursery:

        async def close() -> None:
            await trio.sleep(1.5)
            stand.closed = True

        nursery.start_soon(close)
        with pytest.raises(Closed):
            await parts(stand, [1, 2, 3], settled).run()
    assert settled.rows == [(0, "judged", 1), (1, "judged", 2)]
