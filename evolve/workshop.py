"""Where coding agents work: clean checkouts behind walls, out of which only chosen hosts are reached.

An agent is a program that acts on its own, so it is treated like a candidate: its checkout holds no holdout
file, it sees nothing of the campaign or the user's home, and everything it started is dead when its time is
up. Unlike a candidate it needs its provider: the keys that are named, and a way to the hosts that are named.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from archives.checkouts import Slot
from archives.harvest import harvest
from archives.store import Store
from evaluators import child
from evaluators.contract import Finished, Request
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec, SandboxMode
from evolve.operators.agents import program
from evolve.proxy import proxy

RELAY = Path(child.__file__).parent / "relay.py"
OUTPUT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A coding agent.

    Attributes:
        name: What it is called in the journal.
        command: Shell command; `{prompt}` is the path of its task, `{usd}` what it may cost.
        hosts: Hosts it may reach, as `evolve.proxy.allowed` reads them.
        env: Names of the environment variables it gets to see.
        read: Files and folders it may read although they lie in a hidden folder.
        timeout: Seconds one task may take.
        usd: Dollars one task may cost; None where nobody says.
        sandbox: How much of the walls is insisted upon.
    """

    name: str
    command: str
    hosts: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    read: tuple[Path, ...] = ()
    timeout: float = 900.0
    usd: float | None = None
    sandbox: SandboxMode = "auto"


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent did.

    Attributes:
        finished: How its process ended.
        changes: Changed files of its checkout, None for a deleted one.
        refused: Hosts it wanted to reach and may not.
    """

    finished: Finished
    changes: dict[str, bytes | None]
    refused: tuple[str, ...]


class Workshop:
    """Places for agents, made as they are needed and used again.

    Args:
        store: Store of the candidates.
        folder: Where places and logs are.
        root: Root of the user's repository.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        hide: The campaign's folder.
        hidden: Whether a path belongs to the holdout.
    """

    def __init__(
        self, store: Store, folder: Path, root: Path, prefix: str, hide: Path, hidden: Callable[[str], bool]
    ) -> None:
        self.logs = folder / "logs"
        self._store = store
        self._folder = folder
        self._root = root
        self._prefix = prefix
        self._hide = hide
        self._hidden = hidden
        self._free: list[int] = []
        self._made = 0
        self._slots: dict[int, Slot] = {}

    async def work(
        self, agent: AgentSpec, tree: str, task: str, number: int, editable: Callable[[str], bool]
    ) -> Work:
        """Have an agent work on a tree; its log is kept.

        Raises:
            EvaluatorError: The sandbox cannot be had.
            StoreError: What it left behind cannot be taken over.
        """
        async with self._place() as place:
            slot = self._slots.setdefault(place, Slot(self._store, self._path(place, "tree")))
            await trio.to_thread.run_sync(slot.move_to, tree, self._hidden)
            refused: list[str] = []
            finished = await self._at(place, agent, task, refused.append)
            self._log(number, task, finished, refused)
            changes = await trio.to_thread.run_sync(
                harvest, self._store, tree, slot.path, editable, self._hidden
            )
            return Work(finished, changes, tuple(dict.fromkeys(refused)))

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[int]:
        if not self._free:
            self._free.append(self._made)
            self._made += 1
        place = self._free.pop()
        try:
            yield place
        finally:
            self._free.append(place)

    def _path(self, place: int, part: str) -> Path:
        return self._folder / f"place-{place:03d}" / part

    async def _at(self, place: int, agent: AgentSpec, task: str, refused: Callable[[str], None]) -> Finished:
        desk, scratch = self._path(place, "desk"), self._path(place, "scratch")
        for folder in (desk, scratch):
            folder.mkdir(parents=True, exist_ok=True)
        way_out = desk / "proxy"
        spec = EvaluatorSpec(
            root=self._root,
            command=self._lay_out(desk, way_out, agent, task),
            timeout=agent.timeout,
            env=agent.env,
            sandbox=agent.sandbox,
            output_cap=OUTPUT_BYTES,
            hide=(self._hide,),
            show=(desk, *agent.read, *self._installation(agent.command)),
        )
        async with AsyncExitStack() as stack:
            if agent.hosts:
                await stack.enter_async_context(proxy(way_out, agent.hosts, refused))
            runner = Runner(spec, self._path(place, "tree"), scratch, self._prefix.rstrip("/"))
            await stack.enter_async_context(runner)
            return await runner.execute(Request("agent"))

    def _lay_out(self, desk: Path, way_out: Path, agent: AgentSpec, task: str) -> str:
        """Put the task and the command on the desk; return how the command is started."""
        prompt, script = desk / "task.md", desk / "command.sh"
        prompt.write_text(task, encoding="utf-8")
        filled = agent.command.replace("{prompt}", shlex.quote(str(prompt)))
        script.write_text(filled.replace("{usd}", f"{agent.usd or 0:g}") + "\n", encoding="utf-8")
        start = ["/bin/sh", str(script)]
        if agent.hosts:
            relay = desk / "relay.py"
            shutil.copyfile(RELAY, relay)
            start = [sys.executable, "-I", str(relay), str(way_out), *start]
        return shlex.join(start)

    @staticmethod
    def _installation(command: str) -> Sequence[Path]:
        """The folder of the program itself, which a link on PATH may lead to."""
        found = shutil.which(program(command) or "")
        return () if found is None else (Path(found).resolve().parent,)

    def _log(self, number: int, task: str, finished: Finished, refused: Sequence[str]) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        parts = [
            f"--- task\n{task}",
            f"--- exit {finished.exit}, {finished.seconds:.1f} s",
            *(f"--- host refused: {host}" for host in dict.fromkeys(refused)),
            f"--- stdout\n{finished.stdout.decode('utf-8', 'replace')}",
            f"--- stderr\n{finished.stderr.decode('utf-8', 'replace')}",
        ]
        self.log(number).write_text("\n".join(parts) + "\n", encoding="utf-8")

    def log(self, number: int) -> Path:
        """Where the log of a proposal is."""
        return self.logs / f"{number:06d}.log"
