"""Slots are shared: never more holders than slots, the longest work first, nobody forgotten."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.slots import Slots


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.booleans()), max_size=30),
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_no_more_than_the_width_begin_and_every_slot_comes_back(
    work: list[tuple[str, int, bool]], widths: list[int]
) -> None:
    async def main() -> None:
        slots = Slots(widths[0])

        async def one(kind: str, steps: int, cancelled: bool) -> None:
            with trio.move_on_after(1.5 if cancelled else 1e9):
                async with slots.hold(kind):
                    assert slots.held <= max(widths)
                    await trio.sleep(steps)

        async with trio.open_nursery() as nursery:
            for each in work:
                nursery.start_soon(one, *each)
            for width in widths:
                await trio.sleep(1)
                slots.width = width
        assert (slots.held, slots.waiting) == (0, 0)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.trio
async def test_a_free_slot_goes_to_the_longest_work_and_then_to_who_came_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slots = Slots(1)
    slots.length = {"gate": 60.0, "search": 1.0}.__getitem__
    order: list[str] = []

    async def one(name: str, kind: str) -> None:
        async with slots.hold(kind):
            order.append(name)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for name, kind in (("s1", "search"), ("s2", "search"), ("s3", "search"), ("g1", "gate")):
            nursery.start_soon(one, name, kind)
            await trio.sleep(0.1)
    assert order == ["s1", "g1", "s2", "s3"]


@pytest.mark.trio
async def test_a_wider_width_lets_those_in_who_wait(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(1)
    async with trio.open_nursery() as nursery:

        async def one() -> None:
            async with slots.hold("search"):
                await trio.sleep(10)

        for _ in range(4):
            nursery.start_soon(one)
        await trio.sleep(1)
        assert (slots.held, slots.waiting) == (1, 3)
        slots.width = 3
        assert (slots.held, slots.waiting) == (3, 1)
        slots.width = 1
        await trio.sleep(10.5)
        assert (slots.held, slots.waiting) == (1, 0)
