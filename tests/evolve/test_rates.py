"""Requests and tokens a minute are kept, on trio's clock, by all calls together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_server import says, server

from evolve.models import Gateway, ModelSpec
from evolve.models.rates import BURST, Bucket


def taken(per_minute: float, wants: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """When each of (pause before it, amount) was taken, and how much, all wanted by tasks of their own."""
    log: list[tuple[float, float]] = []

    async def one(bucket: Bucket, pause: float, amount: float) -> None:
        await trio.sleep(pause)
        await bucket.take(amount)
        log.append((trio.current_time(), amount))

    async def main() -> None:
        bucket = Bucket(per_minute)
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            for pause, amount in wants:
                nursery.start_soon(one, bucket, pause, amount)
        log[:] = [(when - start, amount) for when, amount in log]

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return log


@settings(deadline=None)
@given(
    per_minute=st.integers(1, 600),
    pauses=st.lists(st.floats(0, 90, allow_nan=False), min_size=1, max_size=40),
)
def test_no_minute_holds_more_than_the_rate_and_one_burst(per_minute: int, pauses: list[float]) -> None:
    times = [when for when, _ in taken(per_minute, [(pause, 1) for pause in pauses])]
    assert len(times) == len(pauses)
    most = per_minute + max(1.0, per_minute * BURST / 60)
    for start in times:
        assert sum(start <= when <= start + 60 for when in times) <= most + 1e-6


def test_nobody_waits_longer_than_the_rate_demands() -> None:
    times = [when for when, _ in taken(60, [(0, 1)] * 65)]
    assert times[:5] == [0.0] * 5
    assert times[-1] == pytest.approx(60.0)


def test_what_is_larger_than_a_burst_passes_and_is_paid_off_afterwards() -> None:
    log = taken(60, [(0, 30), (1, 1)])
    assert log[0] == (0.0, 30)
    assert log[1][0] == pytest.approx(26.0)


def test_an_estimate_that_was_too_high_is_given_back() -> None:
    async def main() -> float:
        bucket = Bucket(60)
        await bucket.take(5)
        bucket.correct(5, 1)
        await bucket.take(4)
        start = trio.current_time()
        await bucket.take(1)
        return trio.current_time() - start

    assert trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)) == pytest.approx(1.0)


def test_without_a_rate_nobody_waits() -> None:
    async def main() -> float:
        for _ in range(1000):
            await Bucket(None).take(1e9)
        return trio.current_time()

    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(main, clock=clock) == 0.0


def test_all_calls_in_flight_share_the_rates_of_a_model() -> None:
    """Real requests on a clock that jumps: three pass at once, each further one 60 / 36 s later."""
    begun: list[float] = []

    async def one(gateway: Gateway, number: int) -> None:
        await gateway.complete([{"role": "user", "content": "x"}], number=number, attempt=0)
        begun.append(trio.current_time())

    async def main(base: str) -> float:
        spec = ModelSpec("tiny", api_base=base, requests_per_minute=36)
        async with Gateway([spec], 0, env={}) as gateway, trio.open_nursery() as nursery:
            start = trio.current_time()
            for number in range(6):
                nursery.start_soon(one, gateway, number)
        return max(begun) - start

    with server(lambda _: says("fine")) as seen:
        took = trio.run(main, seen.base, clock=trio.testing.MockClock(autojump_threshold=0))
    assert took == pytest.approx(3 * 60 / 36)
    assert len(seen.bodies) == len(begun) == 6
