"""Evaluations on this machine: each seat is a checkout, and a runner that judges in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from archives.checkouts import Checkouts, Slot
from archives.plans import Hidden
from archives.store import Store
from evaluators.brief import Brief
from evaluators.contract import Outcome, Request
from evaluators.runner import Runner
from evaluators.sandbox import Sandbox
from evaluators.spec import EvaluatorSpec


class LocalSeat:
    """One checkout and the runner that judges in it.

    Args:
        slot: The checkout.
        scratch: Folder for request, result and temporary files; made when needed.
        spec: The evaluator.
        folder: Folder in the checkout that the evaluator runs in.
        hidden: Paths that appear in holdout evaluations only.
        number: Number of the seat on its machine, by which it gets processors of its own.
    """

    def __init__(
        self,
        slot: Slot,
        scratch: Path,
        spec: EvaluatorSpec,
        folder: str = "",
        hidden: Hidden | None = None,
        number: int | None = None,
    ) -> None:
        self._slot = slot
        self._scratch = scratch
        self._spec = spec
        self._folder = folder
        self._hidden = hidden
        self._number = number
        self._runner: Runner | None = None
        self._moving = Brief()

    @property
    def sandbox(self) -> Sandbox | None:
        """The walls in force, once it has judged."""
        return None if self._runner is None else self._runner.sandbox

    async def judge(
        self,
        tree: str,
        request: Request,
        timeout: float | None = None,
        begun: Callable[[], None] | None = None,
    ) -> Outcome:
        """See `Seat`."""
        slot, hidden = self._slot, None if request.split == "holdout" else self._hidden
        await self._moving.run(slot.move_to, tree, hidden)
        if self._runner is None:
            self._scratch.mkdir(parents=True, exist_ok=True)
            runner = Runner(self._spec, slot.path, self._scratch, self._folder, self._number)
            self._runner = await runner.__aenter__()
        if begun is not None:
            begun()
        return await self._runner.evaluate(request, lambda: slot.move_to(tree, hidden), timeout)

    async def aclose(self) -> None:
        """See `Seat`."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.__aexit__(None, None, None)


class LocalExecutor:
    """Seats on this machine, as many as are asked for.

    Args:
        store: Store of the candidates.
        checkouts: Folder of the checkouts.
        scratch: Folder of the scratch folders.
        folder: Folder in the checkout that the evaluator runs in.
        hidden: Paths that appear in holdout evaluations only.
    """

    told = "on this machine"

    def __init__(
        self, store: Store, checkouts: Path, scratch: Path, folder: str = "", hidden: Hidden | None = None
    ) -> None:
        self._checkouts = Checkouts(store, checkouts)
        self._scratch = scratch
        self._folder = folder
        self._hidden = hidden
        self.processors = len(os.sched_getaffinity(0))

    def seat(self, number: int, spec: EvaluatorSpec) -> LocalSeat:
        """See `Executor`."""
        slot, scratch = self._checkouts.slot(number), self._scratch / f"slot-{number:03d}"
        return LocalSeat(slot, scratch, spec, self._folder, self._hidden)

    async def room(self) -> bool:
        """See `Executor`."""
        return True
