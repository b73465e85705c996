"""Evaluations on the nodes of a Ray cluster: each seat is one actor, which holds the processors it needs.

*What it must do.* The same contract and walls as on one machine; each evaluation has exactly one result,
whatever dies; what is cancelled stops on its node.

*Choice.* Ray places actors, says when one died, and carries bytes; it retries and restarts nothing. A seat
whose actor or node dies asks the cluster for another and has its evaluation done there; if there is no room
within seconds it says so, and the bench goes on with the seats it has. A result exists once, where the seat
returns it: what a lost actor found out is not asked for any more. An evaluation that loses its node again
and again is taken for the cause. The methods of the actor are in `node`, which knows nothing of Ray.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import trio

from archives.errors import EvaluatorError
from archives.plans import Hidden
from archives.shipping import Cargo, Shipping
from archives.store import Store
from evaluators.contract import Outcome, Request
from evaluators.environment import handed_on
from evaluators.executors.base import NoRoom
from evaluators.executors.node import Node, Order, Refused, packed, release
from evaluators.preparation import fingerprint
from evaluators.spec import EvaluatorSpec
from evaluators.text import one_line
from evaluators.waiting import outcome

ROOM_SECONDS = 30.0
"""How long a seat waits for an actor where the cluster is large enough for one more."""
LOOK_SECONDS = 3.0
"""How often it looks meanwhile whether the cluster still is."""
CANCEL_SECONDS = 15.0
"""How long an actor has to confirm that an evaluation has ended, before it is killed."""
LOSSES = 3
"""Nodes or actors lost in a row by one evaluation, after which it counts as the cause."""
REACH_SECONDS = 5.0
"""How long the head of the cluster has to accept a connection."""
PAUSE = 1.0
_SPENT = "the actor or node that judged it was lost"


class Lost(Exception):
    """The actor is gone or cannot be reached; the message says why."""


@asynccontextmanager
async def cluster(
    store: Store, base: str, folder: str, hidden: Hidden | None, cpus: int
) -> AsyncIterator[RayExecutor]:
    """Join the Ray cluster that runs here or that RAY_ADDRESS names, as long as the block lasts.

    Args:
        store: Store of the candidates.
        base: Commit or tree that most of each candidate is taken from.
        folder: Folder in the checkout that the evaluator runs in.
        hidden: Paths that appear in holdout evaluations only.
        cpus: Processors of one seat.

    Raises:
        EvaluatorError: Ray is not installed, or there is no cluster.
    """
    ray = ray_itself()
    nodes, processors = await trio.to_thread.run_sync(_join, ray)
    try:
        yield RayExecutor(ray, Shipping(store, base), store, folder, hidden, cpus, nodes, processors)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(ray.shutdown)


def look() -> str:
    """Join the cluster and leave it again; where evaluations would run, in words.

    Raises:
        EvaluatorError: Ray is not installed, or there is no cluster.
    """
    ray = ray_itself()
    try:
        return _told(*_join(ray))
    finally:
        ray.shutdown()


def _told(nodes: int, processors: int) -> str:
    return f"on a Ray cluster of {nodes} node{'s' if nodes != 1 else ''}, {processors} CPUs"


def ray_itself() -> Any:
    """The package, which takes a second to import.

    Raises:
        EvaluatorError: It is not installed.
    """
    try:
        import ray
    except ImportError:
        raise EvaluatorError(
            'evaluator.executor = "ray": Ray is not installed here; pip install "evolve-campaigns[ray]"'
        ) from None
    return ray


def _join(ray: Any) -> tuple[int, int]:
    """Connect; returns how many nodes and processors there are."""
    address = os.environ.get("RAY_ADDRESS") or "auto"
    try:
        found = (
            ray._private.services.canonicalize_bootstrap_address(address) if "://" not in address else None
        )
        if found is not None:  # Ray itself tries for minutes
            host, _, port = found.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
        ray.init(address=found or address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = "on this machine" if address == "auto" else f"at RAY_ADDRESS={address}"
        raise EvaluatorError(
            f'evaluator.executor = "ray": no Ray cluster can be reached {where}; start one with '
            f"`ray start --head`, or name another in RAY_ADDRESS ({one_line(str(error))[:200]})"
        ) from None
    # Ray prints the state of a raylet to our standard output when a node dies, and has no option against it.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    nodes = sum(bool(node["Alive"]) for node in ray.nodes())
    return nodes, int(ray.cluster_resources().get("CPU", 0))


class RayExecutor:
    """Seats on a cluster; see `cluster`.

    Attributes:
        proven: Whether a seat has ever been ready.
        seats: Seats that have an actor or wait for one.
    """

    def __init__(
        self,
        ray: Any,
        shipping: Shipping,
        store: Store,
        folder: str,
        hidden: Hidden | None,
        cpus: int,
        nodes: int,
        processors: int,
    ) -> None:
        self.ray = ray
        self.shipping = shipping
        self.store = store
        self.folder = folder
        self.hidden = hidden
        self.cpus = cpus
        self.processors = processors
        self.told = _told(nodes, processors)
        self.proven = False
        self.seats = 0
        self._sent: dict[str, Any] = {}
        self._orders: list[tuple[EvaluatorSpec, Order]] = []

    def seat(self, number: int, spec: EvaluatorSpec) -> RaySeat:
        """See `Executor`."""
        return RaySeat(self, spec)

    async def room(self) -> bool:
        """See `Executor`."""
        free = await trio.to_thread.run_sync(self.ray.available_resources)
        return bool(free.get("CPU", 0) >= self.cpus)

    async def crowded(self) -> bool:
        """Whether there are more seats than the cluster has processors for, whoever else uses it."""
        total = await trio.to_thread.run_sync(self.ray.cluster_resources)
        return bool(self.seats * self.cpus > total.get("CPU", 0))

    def order(self, spec: EvaluatorSpec) -> Order:
        """What a seat is told; made once for an evaluator, because it reads all that is provided."""
        for known, order in self._orders:
            if known is spec:
                return order
        prints = {one.path: fingerprint([(one.path, one.source)]) for one in spec.provisions()}
        order = Order(spec, prints, handed_on(spec), self.folder, self.hidden, release())
        self._orders.append((spec, order))
        return order

    def hire(self, spec: EvaluatorSpec) -> Any:
        """Ask the cluster for an actor; it may have to wait for room."""
        limits = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 4}
        kind = self.ray.remote(num_cpus=self.cpus, scheduling_strategy="SPREAD", **limits)(Node)
        return kind.remote(self.order(spec))

    def sent(self, spec: EvaluatorSpec, paths: Sequence[str]) -> list[Any]:
        """The base, and what is provided at some paths, put where all nodes can fetch it."""
        if "" not in self._sent:
            self._sent[""] = self.ray.put(self.shipping.base())
        for one in spec.provisions():
            if one.path in paths and one.path not in self._sent:
                self._sent[one.path] = self.ray.put(packed(one.source))
        return [self._sent[""], *(self._sent[path] for path in paths)]


class RaySeat:
    """One actor at a time, replaced when it is lost.

    Args:
        executor: The cluster.
        spec: The evaluator.
    """

    def __init__(self, executor: RayExecutor, spec: EvaluatorSpec) -> None:
        self._executor = executor
        self._spec = spec
        self._actor: Any = None
        self._where = ""
        self._errands = itertools.count()

    async def judge(
        self,
        tree: str,
        request: Request,
        timeout: float | None = None,
        begun: Callable[[], None] | None = None,
    ) -> Outcome:
        """See `Seat`."""
        name, cargo = await trio.to_thread.run_sync(self._packed, tree)
        words = ""
        for _ in range(LOSSES):
            if self._actor is None:
                await self._place()
            if begun is not None:
                begun()
                begun = None
            try:
                found: Outcome = self._accepted(await self._ask(cargo, name, request, timeout))
                return found
            except Lost as error:
                words = str(error)
                await self._dismiss()
        return Outcome("could_not_judge", reason=f"{_SPENT} {LOSSES} times: {words}", attempts=LOSSES)

    def _packed(self, tree: str) -> tuple[str, Cargo]:
        name = self._executor.store.tree_of(tree)
        return name, self._executor.shipping.cargo(name)

    def _accepted(self, found: Any) -> Any:
        if isinstance(found, Refused):
            raise EvaluatorError(f"node {self._where}: {found.reason}")
        return found

    async def _place(self) -> None:
        """Get an actor that is ready; several may be lost before one is."""
        words = ""
        for _ in range(LOSSES):
            try:
                await self._settle()
                self._executor.proven = True
                return
            except Lost as error:
                words = f"the Ray cluster cannot start an actor: {error}"
                await trio.sleep(PAUSE)
        raise NoRoom(words) if self._executor.proven else EvaluatorError(words)

    async def _settle(self) -> None:
        """Get an actor, and have it make itself ready."""
        executor, spec = self._executor, self._spec
        actor = self._actor = await trio.to_thread.run_sync(executor.hire, spec)
        executor.seats += 1
        try:
            self._where = await self._started(actor)
            lacking = self._accepted(await self._answer(actor.lacking.remote()))
            sent = await trio.to_thread.run_sync(executor.sent, spec, lacking)
            self._accepted(await self._answer(actor.settle.remote(sent[0], lacking, *sent[1:])))
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._dismiss()
            raise

    async def _started(self, actor: Any) -> str:
        """Wait until an actor runs; where it does."""
        coming, began = actor.name.remote(), trio.current_time()
        while trio.current_time() - began < ROOM_SECONDS:
            with trio.move_on_after(LOOK_SECONDS):
                where: str = await self._answer(coming)
                return where
            if await self._executor.crowded():
                break
        raise NoRoom(f"no node of the Ray cluster has {self._executor.cpus} free CPUs")

    async def _ask(self, cargo: Cargo, tree: str, request: Request, timeout: float | None) -> Any:
        errand = next(self._errands)
        coming = self._actor.judge.remote(errand, cargo, tree, request, timeout)
        try:
            return await self._answer(coming)
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await self._cancel(errand, coming)
            raise

    async def _cancel(self, errand: int, coming: Any) -> None:
        """Have an evaluation ended on its node; an actor that does not confirm it is killed."""
        with trio.move_on_after(CANCEL_SECONDS):
            try:
                await self._answer(self._actor.cancel.remote(errand))
                await self._answer(coming)
                return
            except Lost:
                pass
        await self._dismiss()

    async def _answer(self, coming: Any) -> Any:
        """What an actor answers.

        Raises:
            Lost: It will not answer any more.
        """
        errors = self._executor.ray.exceptions
        try:
            return await outcome(coming.future())
        except errors.RayTaskError:
            raise  # a fault of this program, to be seen in full
        except errors.RayError as error:
            raise Lost(_last_line(str(error))) from None

    async def _dismiss(self) -> None:
        """Kill the actor, and with it everything it has started."""
        actor, self._actor = self._actor, None
        if actor is not None:
            self._executor.seats -= 1
            await trio.to_thread.run_sync(self._executor.ray.kill, actor)

    async def aclose(self) -> None:
        """See `Seat`."""
        if self._actor is not None:
            with trio.move_on_after(CANCEL_SECONDS):
                with suppress(Lost):
                    await self._answer(self._actor.leave.remote())
            await self._dismiss()


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else "no reason was given"
