"""A seat on a node of a cluster: the body of one actor. Nothing here knows Ray.

*What it must do.* Judge as it is done on one machine, behind the same walls, on a machine that has nothing
of the campaign; be cancelled while it judges; leave nothing behind, even if it is killed.

*Choice.* It is a `LocalSeat` on a store of its own in a temporary folder, which holds the base and receives
what each candidate has beyond it. Everything runs in one thread that lives as long as the actor, with trio
in it: the kernel ties the evaluation server's life to the thread that started it, and an actor's own threads
come and go.

The folder carries a number and is locked as long as its owner lives. A new owner takes the lowest number
that is free, of all campaigns of this user on this machine, and empties the folder first. So what a killed
actor left is gone with the next one, and seats with `cpus` know which processors are theirs.
"""

from __future__ import annotations

import fcntl
import io
import os
import platform
import tarfile
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import trio

from archives.checkouts import Slot
from archives.errors import EvaluatorError, EvolveError
from archives.plans import Hidden
from archives.shipping import Cargo, receive, receive_base
from archives.store import Store
from evaluators.child import folders
from evaluators.contract import Outcome, Request
from evaluators.executors.local import LocalSeat
from evaluators.preparation import fingerprint
from evaluators.spec import EvaluatorSpec, Provided

MOST_SEATS = 4096


@dataclass(frozen=True, slots=True)
class Order:
    """What a seat is for.

    Attributes:
        spec: The evaluator; its paths are those of the machine that the campaign runs on.
        prints: Hash of each thing that has to be provided, by the path where it appears.
        environment: Environment variables that evaluations see or heed.
        folder: Folder in the checkout that the evaluator runs in.
        hidden: Paths that appear in holdout evaluations only.
        release: Version of this program there.
    """

    spec: EvaluatorSpec
    prints: Mapping[str, str]
    environment: Mapping[str, str]
    folder: str
    hidden: Hidden | None
    release: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a seat cannot judge, in one line."""

    reason: str


class Node:
    """One seat, away from the campaign's machine; its methods are called by several threads.

    Args:
        order: What it is for.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._cancelled: set[int] = set()
        self._scopes: dict[int, trio.CancelScope] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._live,), name="judging", daemon=True)

    def name(self) -> str:
        """Name of this machine."""
        return platform.node()

    def lacking(self) -> list[str] | Refused:
        """What must be sent before it can judge: paths of what is provided, which this machine lacks."""
        if (here := release()) != self._order.release:
            return Refused(f"evolve-campaigns {here} is installed there, not {self._order.release}")
        os.environ.update(self._order.environment)
        try:
            self._number, self._folder, self._lock = _own_folder()
        except (EvolveError, OSError) as error:
            return Refused(str(error))
        self._thread.start()
        self._ready.wait()
        prints = self._order.prints
        return [
            one.path
            for one in self._order.spec.provisions()
            if not one.source.exists() or fingerprint([(one.path, one.source)]) != prints[one.path]
        ]

    def settle(self, pack: bytes, sent: Sequence[str], *contents: bytes) -> Refused | None:
        """Take in the base, and what was lacking.

        Args:
            pack: The base, see `archives.shipping`.
            sent: Paths of what was lacking.
            *contents: What is to appear there, see `packed`.
        """
        try:
            self._store: Store = receive_base(self._folder / "store", pack)
            provided: list[Provided] = []
            for one in self._order.spec.provisions():
                if one.path in sent:
                    place = self._folder / "provided" / str(len(provided))
                    _unpack(contents[list(sent).index(one.path)], place)
                    one = Provided(one.path, place / "content")
                    if fingerprint([(one.path, one.source)]) != self._order.prints[one.path]:
                        return Refused(f"{one.path} did not arrive as it was sent")
                provided.append(one)
        except (EvolveError, OSError) as error:
            return Refused(str(error))
        root = self._order.spec.root
        if not root.is_dir():
            root = self._folder / "root"
            root.mkdir()
        hide = (*self._order.spec.hide, self._folder.parent)
        spec = replace(self._order.spec, root=root, data=(), provided=tuple(provided), hide=hide)
        slot = Slot(self._store, self._folder / "checkout")
        scratch, order = self._folder / "scratch", self._order
        self._seat = LocalSeat(slot, scratch, spec, order.folder, order.hidden, self._number)
        return None

    def judge(
        self, errand: int, cargo: Cargo, tree: str, request: Request, timeout: float | None
    ) -> Outcome | Refused | None:
        """Judge a tree; None if it was cancelled.

        Args:
            errand: Number by which it can be cancelled.
            cargo: What the tree has beyond the base.
            tree: The tree.
            request: What the evaluator is asked.
            timeout: Time limit in seconds, where it is not the evaluator's own.
        """
        try:
            receive(self._store, cargo, tree)
            return trio.from_thread.run(self._judge, errand, tree, request, timeout, trio_token=self._token)
        except EvolveError as error:
            return Refused(str(error))

    async def _judge(self, errand: int, tree: str, request: Request, timeout: float | None) -> Outcome | None:
        with trio.CancelScope() as scope:
            self._scopes[errand] = scope
            if errand in self._cancelled:
                scope.cancel()
            try:
                return await self._seat.judge(tree, request, timeout)
            finally:
                del self._scopes[errand]
        return None

    def cancel(self, errand: int) -> None:
        """Have an evaluation cancelled, also one that is still to come."""
        trio.from_thread.run_sync(self._cancel, errand, trio_token=self._token)

    def _cancel(self, errand: int) -> None:
        self._cancelled = {errand}
        if errand in self._scopes:
            self._scopes[errand].cancel()

    def leave(self) -> None:
        """End everything, and leave nothing behind."""
        if self._thread.is_alive():
            trio.from_thread.run_sync(self._leaving.set, trio_token=self._token)
            self._thread.join()
            folders.empty(str(self._folder))
            os.close(self._lock)

    async def _live(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._leaving = trio.Event()
        self._ready.set()
        await self._leaving.wait()
        if hasattr(self, "_seat"):
            await self._seat.aclose()


def release() -> str:
    """The installed version of this program."""
    return version("evolve-campaigns")


def packed(source: Path) -> bytes:
    """A file or folder with all below it, links as links, for `Node.settle`."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(source.resolve(), "content")
    return data.getvalue()


def _unpack(data: bytes, place: Path) -> None:
    place.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(place, filter="tar")


def _own_folder() -> tuple[int, Path, int]:
    """The first numbered folder that nobody owns, emptied, and the lock on it."""
    home = Path(tempfile.gettempdir()) / f"evolve-seats-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.is_symlink() or home.stat().st_uid != os.getuid():
        raise EvaluatorError(f"{home} belongs to somebody else; remove it, or set TMPDIR")
    for number in range(MOST_SEATS):
        folder = home / str(number)
        lock = os.open(home / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        folder.mkdir(exist_ok=True)
        folders.empty(str(folder))
        return number, folder, lock
    raise EvaluatorError(f"all {MOST_SEATS} seats in {home} are taken")
