"""One evaluation in several runs: side by side where slots are free, cut short once it is decided.

A candidate always has one run under way or in line. Further runs of it start only in slots that nobody else
waits for: with more candidates than slots each goes through its cases one run after the other, so what is
decided early has cost little; with spare slots the runs of one candidate share them.

What takes unusually long may be started a second time in a spare slot (Dean & Barroso, The Tail at Scale,
CACM 2013): the first of the two to end counts. Whatever is still running when there is no more need for it
is killed with everything it started, and handed over as cancelled, with the time it took.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import trio

from archives.records import Candidate
from evaluators.contract import Outcome, Request
from evolve.bench import Bench, Closed

ENOUGH = 20
RECENT = 200
QUANTILE = 0.95


@dataclass(slots=True)
class Pace:
    """How long runs of a stage took lately, and whether slow ones may be doubled."""

    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def note(self, seconds: float) -> None:
        """Take in how long a run took that was judged."""
        self.recent.append(seconds)

    @property
    def slow(self) -> float:
        """Seconds that only one in twenty runs takes longer than; infinity while too few are known."""
        if len(self.recent) < ENOUGH:
            return math.inf
        return sorted(self.recent)[int(QUANTILE * len(self.recent))]


@dataclass(eq=False, slots=True)
class _Copy:
    """One run of a part."""

    part: int
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    began: float | None = None
    why: str = ""


class Parts:
    """The runs of one evaluation.

    Args:
        bench: Where they are judged.
        candidate: Who is judged.
        requests: What the evaluator is asked, part by part.
        purpose: Why the candidate is judged.
        timeout: Time limit of one run, in seconds.
        settle: Called with the number of a part (from 0) and what came of a run of it; returns why the other
            parts are not needed any more, or None.
        pace: How long runs take, by which slow ones are recognised; None never starts one twice.
        afford: Whether a second copy may be paid for; called right before it starts.
    """

    def __init__(
        self,
        bench: Bench,
        candidate: Candidate,
        requests: Sequence[Request],
        purpose: str,
        timeout: float,
        settle: Callable[[int, Outcome], Awaitable[str | None]],
        pace: Pace | None = None,
        afford: Callable[[], bool] = lambda: True,
    ) -> None:
        self._bench, self._candidate, self._requests = bench, candidate, requests
        self._purpose, self._timeout, self._settle = purpose, timeout, settle
        self._pace, self._afford = pace, afford
        self._todo = deque(range(len(requests)))
        self._running: list[_Copy] = []
        self._doubled: set[int] = set()
        self._changed = trio.Event()
        self._closed = False
        self._over = False
        self._settling = 0

    async def run(self) -> None:
        """Have the parts judged, until all are or the rest is not needed.

        Raises:
            Closed: The bench was closed before all of them could begin.
        """
        async with trio.open_nursery() as nursery:
            while (self._todo or self._running) and not (self._closed and not self._running):
                self._changed = trio.Event()
                for copy in self._due():
                    self._running.append(copy)
                    nursery.start_soon(self._judge, copy)
                if self._running:
                    await self._something()
        if self._closed and self._todo and not self._over:
            raise Closed

    def _due(self) -> list[_Copy]:
        """The runs that should start now; none while one that has ended may yet make them needless."""
        if self._closed or self._over or self._settling:
            return []
        room = max(self._bench.slots.spare, 0 if self._running else 1)
        due = [_Copy(self._todo.popleft()) for _ in range(min(room, len(self._todo)))]
        for copy in list(self._running):
            if len(due) < room and self._slow(copy) and self._afford():
                self._doubled.add(copy.part)
                due.append(_Copy(copy.part))
        return due

    def _slow(self, copy: _Copy) -> bool:
        if self._pace is None or copy.began is None or copy.part in self._doubled:
            return False
        return trio.current_time() - copy.began >= self._pace.slow

    async def _something(self) -> None:
        """Wait until a run has ended, a slot is free that could be used, or a run has become slow."""
        waits = [
            copy.began for copy in self._running if copy.began is not None and copy.part not in self._doubled
        ]
        slow = math.inf if self._pace is None or not waits else min(waits) + self._pace.slow
        if slow <= trio.current_time():  # it is slow already, and waits for a slot
            slow = math.inf
        async with trio.open_nursery() as nursery:
            if self._todo or self._pace is not None:
                nursery.start_soon(self._await_idle, nursery.cancel_scope)
            with trio.move_on_at(slow):
                await self._changed.wait()
            nursery.cancel_scope.cancel()

    async def _await_idle(self, scope: trio.CancelScope) -> None:
        await self._bench.slots.idle()
        scope.cancel()

    async def _judge(self, copy: _Copy) -> None:
        try:
            outcome = await self._outcome(copy)
            if outcome is not None:
                self._settling += 1
                await self._take(copy, outcome)
                self._settling -= 1
        except Closed:
            self._closed = True
            if copy.part not in self._doubled:
                self._todo.appendleft(copy.part)
        finally:
            self._running.remove(copy)
            self._changed.set()

    async def _outcome(self, copy: _Copy) -> Outcome | None:
        """What came of one run; None where it was cancelled before it began."""

        def begin() -> None:
            copy.began = trio.current_time()
            self._changed.set()

        with copy.scope:
            return await self._bench.judge(
                self._candidate, self._requests[copy.part], self._purpose, self._timeout, begin
            )
        if copy.began is None:
            return None
        return Outcome("cancelled", reason=copy.why, seconds=trio.current_time() - copy.began)

    async def _take(self, copy: _Copy, outcome: Outcome) -> None:
        if outcome.verdict == "judged" and self._pace is not None:
            self._pace.note(outcome.seconds)
        if outcome.verdict != "cancelled":
            self._cancel("its second copy ended first", copy, copy.part)
        why = await self._settle(copy.part, outcome)
        if why is not None:
            self._over = True
            self._todo.clear()
            self._cancel(why, copy)

    def _cancel(self, why: str, but: _Copy, part: int | None = None) -> None:
        for other in self._running:
            if other is not but and part in (None, other.part) and not other.why:
                other.why = why
                other.scope.cancel()
