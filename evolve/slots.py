"""Slots that several kinds of work share, as many as there is room for just now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio


@dataclass(eq=False, slots=True)
class _Waiter:
    kind: str
    granted: trio.Event = field(default_factory=trio.Event)


class Slots:
    """At most `width` holders at a time; a free slot goes to the kind of work that takes longest.

    What takes longest decides when everything is done, so it must not stand behind what is quickly done
    (Graham's longest-processing-time rule). Within a kind, first come is first served.

    Args:
        width: Holders at a time. May be set anew at any time; who holds a slot keeps it.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._waiters: list[_Waiter] = []
        self._idle = trio.Event()
        self._most: int | None = None
        self.held = 0
        self.length: Callable[[str], float] = lambda kind: 0.0
        """How long a kind of work takes, in seconds."""

    @property
    def width(self) -> int:
        """Holders at a time."""
        return self._width if self._most is None else min(self._width, self._most)

    @width.setter
    def width(self, width: int) -> None:
        self._width = width
        self._grant()

    @property
    def most(self) -> int | None:
        """Holders there is room for, whatever the width; None where there is no such limit."""
        return self._most

    @most.setter
    def most(self, most: int | None) -> None:
        self._most = most
        self._grant()

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._waiters)

    @property
    def spare(self) -> int:
        """Slots that nobody holds or waits for."""
        return max(0, self.width - self.held - len(self._waiters))

    async def idle(self) -> None:
        """Wait until a slot becomes free that nobody waits for."""
        await self._idle.wait()

    @asynccontextmanager
    async def hold(self, kind: str) -> AsyncIterator[None]:
        """Hold a slot as long as the block lasts; waits until there is one."""
        waiter = _Waiter(kind)
        self._waiters.append(waiter)
        self._grant()
        try:
            await waiter.granted.wait()
            yield
        finally:
            if waiter.granted.is_set():
                self.held -= 1
                self._grant()
            else:
                self._waiters.remove(waiter)

    def _grant(self) -> None:
        while self._waiters and self.held < self.width:
            following = max(self._waiters, key=lambda waiter: self.length(waiter.kind))
            self._waiters.remove(following)
            self.held += 1
            following.granted.set()
        if self.held < self.width:
            self._idle.set()
            self._idle = trio.Event()
