"""Work moves between the event loop's thread and others by what it takes."""

from __future__ import annotations

import threading
import time

import pytest
import trio

from evaluators.brief import BRIEF, Brief


def where(seconds: float = 0.0) -> bool:
    """Whether this is the main thread, after a while."""
    time.sleep(seconds)
    return threading.current_thread() is threading.main_thread()


@pytest.mark.trio
async def test_nothing_known_is_nothing_for_the_loop() -> None:
    assert not await Brief().run(where)


@pytest.mark.trio
async def test_brief_work_stays_on_the_loop() -> None:
    brief = Brief()
    await brief.run(where)
    assert await brief.run(where)


@pytest.mark.trio
async def test_work_that_something_else_may_hold_up_is_kept_away() -> None:
    brief = Brief()
    await brief.run(where)
    with brief.elsewhere():
        assert not await brief.run(where)
    assert await brief.run(where)


@pytest.mark.trio
async def test_work_that_became_slow_moves_away_and_comes_back() -> None:
    brief = Brief()
    await brief.run(where)
    await brief.run(where, 20 * BRIEF)
    assert not await brief.run(where)
    for _ in range(50):
        if await brief.run(where):
            break
    else:
        pytest.fail("it stayed away")


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.trio
async def test_what_the_work_raises_is_raised(before: int) -> None:
    brief = Brief()
    for _ in range(before):
        await brief.run(where)
    with pytest.raises(ZeroDivisionError):
        await brief.run(lambda: 1 / 0)


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.trio
async def test_it_is_a_place_to_be_cancelled_at(before: int) -> None:
    brief = Brief()
    for _ in range(before):
        await brief.run(where)
    with trio.CancelScope() as scope:
        scope.cancel()
        await brief.run(where)
        pytest.fail("not cancelled")
