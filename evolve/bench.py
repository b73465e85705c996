"""Where candidates are judged: places, each with a seat of its own, made when needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from archives.errors import EvaluatorError
from archives.records import Candidate
from archives.store import Store
from evaluators.contract import Outcome, Request
from evaluators.executors.base import Executor, NoRoom, Seat
from evaluators.spec import EvaluatorSpec
from evolve.slots import Slots

LOOK_FOR_ROOM = 15.0
"""Seconds after which it is looked again whether there is room for a place that was given up."""
ALONE = 600.0
"""Seconds that the last place waits for room before the run is given up."""


class Closed(Exception):
    """No evaluation begins any more; what was to be judged stays as it is for a later run."""


@dataclass(eq=False, slots=True)
class Place:
    """A place to judge at: its number, and its seat once it has one."""

    number: int
    seat: Seat | None = None


class Bench:
    """Judges candidates, as many at a time as there are slots.

    Places come and go with the room there is: one that finds none is given up and its work done at another,
    and when there is room again it is made anew.

    Args:
        store: Store of the candidates.
        executor: Where evaluations run.
        spec: The evaluator; may be replaced until the first judgement.
        width: Evaluations at a time; `slots.width` changes it.
        overlay: Files laid over each candidate, None where one is gone: a later version of the evaluator.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        spec: EvaluatorSpec,
        width: int,
        overlay: Mapping[str, bytes | None] | None = None,
    ) -> None:
        self.spec = spec
        self.executor = executor
        self._store = store
        self.overlay = overlay
        self._closed = False
        self._places: list[Place] = []
        self._free: list[Place] = []
        self._looked = 0.0
        self.slots = Slots(width)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for place in self._places:
                    if place.seat is not None:
                        nursery.start_soon(place.seat.aclose)

    @asynccontextmanager
    async def _place(self, purpose: str) -> AsyncIterator[Place]:
        """The place that was used last is the first to be used again: its processes are warm."""
        async with self.slots.hold(purpose):
            place = self._free.pop() if self._free else self._another()
            try:
                yield place
            finally:
                if place in self._places:
                    self._free.append(place)

    def _another(self) -> Place:
        taken = {place.number for place in self._places}
        place = Place(next(number for number in range(len(taken) + 1) if number not in taken))
        self._places.append(place)
        return place

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
            EvaluatorError: The evaluator cannot be started, or there has been no room for it for long.
        """
        asked = trio.current_time()
        while True:
            await self._widen()
            async with self._place(purpose) as place:
                if self._closed:
                    raise Closed
                tree = candidate.id
                if self.overlay:
                    tree = await trio.to_thread.run_sync(self._store.write_tree, tree, self.overlay)
                if place.seat is None:
                    place.seat = self.executor.seat(place.number, self.spec)
                try:
                    return await place.seat.judge(tree, request, timeout, begun)
                except NoRoom as error:
                    if len(self._places) > 1:
                        await self._give_up(place)
                    elif trio.current_time() - asked > ALONE:
                        raise EvaluatorError(f"{error}; make room, then `evolve resume`") from None

    async def _give_up(self, place: Place) -> None:
        self._places.remove(place)
        self.slots.most, self._looked = len(self._places), trio.current_time()
        if place.seat is not None:
            await place.seat.aclose()

    async def _widen(self) -> None:
        """After a place was given up: one more, when there is room."""
        if self.slots.most is None or trio.current_time() - self._looked < LOOK_FOR_ROOM:
            return
        self._looked = trio.current_time()
        if await self.executor.room():
            self.slots.most += 1
