"""Ctrl-C, SIGTERM and the loss of the terminal, heard from the first moment of a run to its last.

trio's own receiver raises again what nobody has read when it closes, so a SIGTERM that arrives while a run
is being wound up would kill it before it has written how it ended. Here signals only count; who cares waits
for the next one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

import trio

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Interrupts:
    """Signals that have arrived, oldest first."""

    arrived: list[int] = field(default_factory=list)
    changed: trio.Event = field(default_factory=trio.Event)

    async def wait(self, count: int) -> int:
        """Wait until so many have arrived; returns the last of them."""
        while len(self.arrived) < count:
            await self.changed.wait()
        return self.arrived[count - 1]

    def note(self, number: int) -> None:
        """Count a signal."""
        self.arrived.append(number)
        self.changed.set()
        self.changed = trio.Event()


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Count SIGINT, SIGTERM and SIGHUP while the block lasts; outside the main thread none ever arrives."""
    heard = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    token = trio.lowlevel.current_trio_token()

    def handle(number: int, frame: FrameType | None) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(heard.note, number)

    numbers = [*NUMBERS]
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # else somebody, nohup for one, has other plans
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
