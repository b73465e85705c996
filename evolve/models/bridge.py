"""An asyncio loop in a thread of its own, called from trio.

The libraries that talk to models (litellm, aiohttp) are written for asyncio and do not run under trio,
nor reliably under an asyncio loop that is itself a guest of trio. Running their blocking form in worker
threads costs a connection per call and cannot be cancelled: the request, and its bill, goes on. So there
is one loop in one daemon thread. A call crosses over with `run_coroutine_threadsafe`, comes back as a
trio event, and cancelling it on the trio side cancels the asyncio task, which closes the socket at once.
The crossing costs well under a tenth of a millisecond.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import trio

Result = TypeVar("Result")


class Bridge:
    """The loop; the first call starts it, `stop` ends it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is not None:
            return self._loop
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop,), name="evolve-models", daemon=True
        )
        self._thread.start()
        return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        # Background tasks of libraries end with the loop; what they say about it concerns nobody.
        loop.set_exception_handler(lambda *_: None)
        loop.run_forever()
        loop.close()

    def begin(self, function: Callable[..., Coroutine[Any, Any, object]], *args: Any) -> None:
        """Let `function(*args)` run on the loop before all later calls, and wait for nothing."""
        asyncio.run_coroutine_threadsafe(function(*args), self._started())

    async def call(self, function: Callable[..., Coroutine[Any, Any, Result]], *args: Any) -> Result:
        """Run `function(*args)` on the loop and wait for it; cancelling the wait cancels the task."""
        token, done = trio.lowlevel.current_trio_token(), trio.Event()
        future = asyncio.run_coroutine_threadsafe(function(*args), self._started())

        def wake(_: concurrent.futures.Future[Result]) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(done.set)

        future.add_done_callback(wake)
        try:
            await done.wait()
        except trio.Cancelled:
            future.cancel()
            raise
        return future.result()

    async def stop(self, *closers: Callable[[], Awaitable[None]], patience: float = 2.0) -> None:
        """Cancel what is left, run the closers and end the thread, in about `patience` seconds at most."""
        if self._loop is None or self._thread is None:
            return
        loop, thread, self._loop = self._loop, self._thread, None
        farewell = asyncio.run_coroutine_threadsafe(_farewell(closers, patience / 2), loop)
        farewell.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(thread.join, patience)


async def _farewell(closers: tuple[Callable[[], Awaitable[None]], ...], patience: float) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=patience)
    for close in closers:
        with contextlib.suppress(asyncio.TimeoutError, OSError):
            await asyncio.wait_for(close(), patience / 2)
