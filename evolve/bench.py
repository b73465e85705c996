"""Where candidates are judged: places, each a clean checkout with a runner of its own, made when needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
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
from evolve.slots import Slots


class Closed(Exception):
    """No evaluation begins any more; what was to be judged stays as it is for a later run."""


@dataclass(slots=True)
class Place:
    """One checkout and the runner that judges in it."""

    slot: Slot
    scratch: Path
    runner: Runner | None = None


class Bench:
    """Judges candidates, as many at a time as there are slots.

    Args:
        store: Store of the candidates.
        layout: Paths of the campaign.
        spec: The evaluator; may be replaced until the first judgement.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        hidden: Paths that appear in holdout evaluations only.
        width: Evaluations at a time; `slots.width` changes it.
        overlay: Files laid over each candidate, None where one is gone: a later version of the evaluator.
    """

    def __init__(
        self,
        store: Store,
        layout: Layout,
        spec: EvaluatorSpec,
        prefix: str,
        hidden: Callable[[str], bool],
        width: int,
        overlay: Mapping[str, bytes | None] | None = None,
    ) -> None:
        self.spec = spec
        self._store = store
        self.overlay = overlay
        self._prefix = prefix
        self._hidden = hidden
        self._closed = False
        self._stack = AsyncExitStack()
        self._layout = layout
        self._checkouts = Checkouts(store, layout.checkouts)
        self._made = 0
        self._free: list[Place] = []
        self.slots = Slots(width)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with trio.CancelScope(shield=True):
            await self._stack.aclose()

    @asynccontextmanager
    async def _place(self, purpose: str) -> AsyncIterator[Place]:
        """The place that was used last is the first to be used again: its processes are warm."""
        async with self.slots.hold(purpose):
            place = self._free.pop() if self._free else self._another()
            try:
                yield place
            finally:
                self._free.append(place)

    def _another(self) -> Place:
        number, self._made = self._made, self._made + 1
        return Place(self._checkouts.slot(number), self._layout.scratch / f"slot-{number:03d}")

    def close(self) -> None:
        """Let no further evaluation begin; those under way go on to their end."""
        self._closed = True

    async def judge(
        self,
        candidate: Candidate,
        request: Request,
        purpose: str = "search",
        timeout: float | None = None,
        begun: Callable[[], None] | None = None,
    ) -> Outcome:
        """Judge a candidate in a clean checkout; waits for a free slot.

        Args:
            candidate: Who is judged.
            request: What the evaluator is asked.
            purpose: Why, which decides who gets a slot first.
            timeout: Time limit in seconds, where it is not the evaluator's own.
            begun: Called when the evaluator is about to start.

        Raises:
            Closed: The bench was closed before it could begin.
        """
        hidden = None if request.split == "holdout" else self._hidden
        async with self._place(purpose) as place:
            if self._closed:
                raise Closed
            slot = place.slot
            tree = await trio.to_thread.run_sync(self._fill, slot, candidate.id, hidden)
            if place.runner is None:
                place.scratch.mkdir(parents=True, exist_ok=True)
                runner = Runner(self.spec, slot.path, place.scratch, self._prefix.rstrip("/"))
                place.runner = await self._stack.enter_async_context(runner)
            if begun is not None:
                begun()
            return await place.runner.evaluate(request, lambda: slot.move_to(tree, hidden), timeout)

    def _fill(self, slot: Slot, candidate: str, hidden: Callable[[str], bool] | None) -> str:
        tree = self._store.write_tree(candidate, self.overlay) if self.overlay else candidate
        slot.move_to(tree, hidden)
        return tree
