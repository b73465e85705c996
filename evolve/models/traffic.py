"""How many requests to models may be under way, and what is heard of them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from evolve.models.errors import Fault, FaultKind
from evolve.widths import Answer, Kind

_REFUSALS: dict[FaultKind, Kind] = {"rate": "rate", "timeout": "timeout"}


class Traffic:
    """A limit on requests under way, which may be set anew at any time; at first there is none.

    A call that pauses between two attempts has no request under way, so a lower limit holds at once for
    the attempts after it.

    Attributes:
        under_way: Requests under way.
        heard: Called with what became of each request that says anything of the server's capacity.
    """

    def __init__(self) -> None:
        self.under_way = 0
        self.heard: Callable[[Answer], None] = lambda answer: None
        self._limit = trio.CapacityLimiter(math.inf)

    def limit(self, most: int) -> None:
        """Let no more than so many requests be under way; those that are go on."""
        self._limit.total_tokens = most

    @asynccontextmanager
    async def room(self) -> AsyncIterator[None]:
        """Wait until one more request may be made, and keep its place as long as the block lasts."""
        async with self._limit:
            yield

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Count and time the one request that the block makes."""
        self.under_way += 1
        began, among = trio.current_time(), self.under_way
        kind: Kind | None = None
        try:
            yield
            kind = "answered"
        except Fault as fault:
            kind = _REFUSALS.get(fault.kind)
            raise
        finally:
            self.under_way -= 1
            if kind is not None:
                self.heard(Answer(began, among, trio.current_time() - began, kind))
