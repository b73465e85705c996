"""The workers of one stage of the pipeline: what waits for them, and how many there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from archives.records import Proposal

SMOOTHING = 0.1
"""Weight of the newest proposal in the mean time a proposal takes."""


class Workers:
    """Work on proposals in their order of arrival, as many at a time as their width says.

    What waits has no limit of its own: whoever puts something here holds a token for it, and the tokens
    are limited (see `evolve.pipeline`).

    Args:
        name: Name of the stage, for those who watch.
        width: Proposals at a time; may be set anew at any time.

    Attributes:
        busy: Proposals that are worked on.
        bound: What its width is bound by, in a few words; empty where it is fixed.
        seconds: Mean time that a proposal takes here, in seconds, the last ones weighing most.
    """

    def __init__(self, name: str, width: int) -> None:
        self.name = name
        self.busy = 0
        self.bound = ""
        self.seconds = 0.0
        self._workers = trio.CapacityLimiter(width)
        self._send, self._receive = trio.open_memory_channel[Proposal](float("inf"))

    @property
    def width(self) -> int:
        """Proposals at a time."""
        return int(self._workers.total_tokens)

    @width.setter
    def width(self, width: int) -> None:
        self._workers.total_tokens = width

    @property
    def waiting(self) -> int:
        """Proposals that nobody works on yet."""
        return self._send.statistics().current_buffer_used

    @property
    def occupancy(self) -> dict[str, int | str]:
        """What waits, how many work, how many may, and why not more, for those who watch."""
        return {"waiting": self.waiting, "busy": self.busy, "width": self.width, "bound": self.bound}

    def put(self, proposal: Proposal) -> None:
        """Hand a proposal to them."""
        self._send.send_nowait(proposal)

    async def run(self, work: Callable[[Proposal], Awaitable[None]]) -> None:
        """Work until cancelled; an exception of `work` ends it."""
        async with trio.open_nursery() as nursery:
            while True:
                worker = object()
                await self._workers.acquire_on_behalf_of(worker)
                proposal = await self._receive.receive()
                nursery.start_soon(self._one, work, proposal, worker)

    async def _one(
        self, work: Callable[[Proposal], Awaitable[None]], proposal: Proposal, worker: object
    ) -> None:
        self.busy += 1
        began = trio.current_time()
        try:
            await work(proposal)
        finally:
            self.busy -= 1
            self._workers.release_on_behalf_of(worker)
        taken = trio.current_time() - began
        self.seconds += (SMOOTHING if self.seconds else 1.0) * (taken - self.seconds)
