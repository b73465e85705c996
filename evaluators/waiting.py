"""Waiting in trio for what other threads promise."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import trio

T = TypeVar("T")


async def outcome(future: Future[T]) -> T:
    """Wait for a future of another thread; its exception is raised here."""
    if not future.done():
        token, done = trio.lowlevel.current_trio_token(), trio.Event()

        def wake(_: Future[T]) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(done.set)

        future.add_done_callback(wake)
        await done.wait()
    return future.result()
