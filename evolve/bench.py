"""Where candidates are judged: a fixed number of places, each a clean checkout with a runner of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from archives.checkouts import Checkouts, Slot
from archives.records import Candidate
from archives.store import Store
from evaluators.contract import Outcome, Request
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec
from evolve.layout import Layout


class Closed(Exception):
    """No evaluation begins any more; what was to be judged stays as it is for a later run."""


@dataclass(slots=True)
class Place:
    """One checkout and the runner that judges in it."""

    slot: Slot
    scratch: Path
    runner: Runner | None = None


class Bench:
    """Judges candidates, as many at a time as there are places.

    Args:
        store: Store of the candidates.
        layout: Paths of the campaign.
        spec: The evaluator.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        hidden: Paths that appear in holdout evaluations only.
        width: Number of places.
    """

    def __init__(
        self,
        store: Store,
        layout: Layout,
        spec: EvaluatorSpec,
        prefix: str,
        hidden: Callable[[str], bool],
        width: int,
    ) -> None:
        self._spec = spec
        self._prefix = prefix
        self._hidden = hidden
        self._closed = False
        self._stack = AsyncExitStack()
        checkouts = Checkouts(store, layout.checkouts)
        self._free, self._waiting = trio.open_memory_channel[Place](width)
        for number in range(width):
            place = Place(checkouts.slot(number), layout.scratch / f"slot-{number:03d}")
            self._free.send_nowait(place)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with trio.CancelScope(shield=True):
            await self._stack.aclose()

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[Place]:
        place = await self._waiting.receive()
        try:
            yield place
        finally:
            self._free.send_nowait(place)

    def close(self) -> None:
        """Let no further evaluation begin; those under way go on to their end."""
        self._closed = True

    async def judge(self, candidate: Candidate, request: Request) -> Outcome:
        """Judge a candidate in a clean checkout; waits for a free place.

        Raises:
            Closed: The bench was closed before it could begin.
        """
        hidden = None if request.split == "holdout" else self._hidden
        async with self._place() as place:
            if self._closed:
                raise Closed
            slot = place.slot
            await trio.to_thread.run_sync(slot.move_to, candidate.id, hidden)
            if place.runner is None:
                place.scratch.mkdir(parents=True, exist_ok=True)
                runner = Runner(self._spec, slot.path, place.scratch, self._prefix.rstrip("/"))
                place.runner = await self._stack.enter_async_context(runner)
            return await place.runner.evaluate(request, lambda: slot.move_to(candidate.id, hidden))
