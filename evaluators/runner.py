"""One evaluation slot: a request goes in, a verdict comes out, and nothing of it is left behind."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

import trio

from archives.errors import EvaluatorError
from evaluators import contract
from evaluators.child import folders
from evaluators.contract import Finished, Outcome, Request
from evaluators.environment import (
    SUPPLIED,
    Interpreter,
    environment,
    find_interpreter,
    followed,
    hidden_folders,
    own_interpreter,
    visible,
)
from evaluators.process import NoWalls, ServerDied, ServerProcess
from evaluators.sandbox import Sandbox, check_strict, described
from evaluators.spec import EvaluatorSpec, Origin, command_line

RECYCLE_AFTER = 1000
"""Evaluations after which a server is replaced, whatever state it is in."""
RETRY_PAUSES = (0.2, 1.0, 4.0)
"""Seconds before each further attempt when the evaluator could not judge."""
_PROCESSES = 1024
_TMP_BYTES = 4 * 1024**3
_DEATHS = 3

_slots = itertools.count()


class Runner:
    """One evaluation slot: one child server behind its walls, reused from candidate to candidate.

    Attributes:
        sandbox: Which walls there are, once it is entered.
    """

    def __init__(
        self, spec: EvaluatorSpec, checkout: Path, scratch: Path, folder: str = "", number: int | None = None
    ) -> None:
        """Prepare a slot; nothing is started yet.

        Args:
            spec: The evaluator.
            checkout: Folder that holds the candidate's files whenever `evaluate` is called.
            folder: Folder in the checkout that the evaluator runs in; `data` appears there.
            scratch: Folder for request, result and temporary files; emptied before each evaluation.
            number: Number of the slot among all of the machine. Default: the next one of this process.
        """
        self._spec = spec
        self._checkout = checkout.resolve()
        self._scratch = scratch.resolve()
        self._folder = folder
        self._places: tuple[tuple[int, int], ...] = ()
        self._slot = next(_slots) if number is None else number
        self._server: ServerProcess | None = None
        self._walls = spec.sandbox != "none"
        self._modules: list[str] | None = None
        self._deaths = 0
        self._busy = False
        self._reason: str | None = None
        self.sandbox: Sandbox = described(False, (), spec.network)

    async def __aenter__(self) -> Runner:
        """Start the server.

        Raises:
            EvaluatorError: It cannot be started, or a wall is missing that must not be.
        """
        self._python = await trio.to_thread.run_sync(find_interpreter, self._spec)
        self._own = await trio.to_thread.run_sync(own_interpreter)
        await self._ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and everything below it, and empty the scratch folder."""
        await self._drop()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(folders.empty, str(self._scratch))

    async def evaluate(
        self,
        request: Request,
        restore: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Judge what is in the checkout.

        An evaluator that could not judge is asked again a few times. Cancelling kills everything that the
        evaluation has started before the cancellation goes on.

        Args:
            request: What the evaluator is asked.
            restore: Brings the checkout back to its first state before a further attempt.
            timeout: Time limit in seconds, where it is not the evaluator's own.

        Raises:
            EvaluatorError: The server dies again and again.
        """
        if self._busy:
            raise RuntimeError("a Runner judges one candidate at a time: use one per slot")
        self._busy = True
        try:
            return await self._with_retries(request, restore, timeout)
        finally:
            self._busy = False

    async def _with_retries(
        self, request: Request, restore: Callable[[], None] | None, timeout: float | None
    ) -> Outcome:
        seconds = cpu_seconds = 0.0
        attempts = 0
        for pause in (*RETRY_PAUSES, None):
            outcome = await self._once(request, timeout)
            attempts += 1
            seconds += outcome.seconds
            cpu_seconds += outcome.cpu_seconds
            if outcome.verdict != "could_not_judge" or pause is None:
                break
            await trio.sleep(pause)
            if restore is not None:
                await trio.to_thread.run_sync(restore)
        return replace(outcome, attempts=attempts, seconds=seconds, cpu_seconds=cpu_seconds)

    async def execute(self, request: Request) -> Finished:
        """Run the command once and hand back what it left, without judging it.

        Raises:
            EvaluatorError: The server died.
        """
        if self._busy:
            raise RuntimeError("a Runner runs one thing at a time: use one per slot")
        self._busy = True
        try:
            return await self._run(request)
        except ServerDied as error:
            raise EvaluatorError(f"the sandbox died: {error}") from None
        finally:
            self._busy = False

    async def _once(self, request: Request, timeout: float | None) -> Outcome:
        try:
            finished = await self._run(request, timeout)
        except ServerDied as error:
            return self._outcome_of_death(str(error))
        return contract.judge(finished, self._spec.objective, request)

    async def _run(self, request: Request, timeout: float | None = None) -> Finished:
        server = await self._ready()
        timeout = timeout or self._spec.timeout
        try:
            answer = await server.ask(self._as_asked(request), timeout)
        except ServerDied:
            await self._drop()
            raise
        except trio.Cancelled:
            if not server.alive:
                await self._drop()
            raise
        if answer is None:
            await self._drop()
            return Finished(timed_out=True, limit=timeout, seconds=timeout)
        header, blobs = answer
        if "broken" in header:
            await self._drop()
            raise ServerDied(header["broken"])
        self._deaths = 0
        self._modules = header.get("modules") or self._modules
        return self._blamed(_finished(header, blobs, timeout), header)

    def _blamed(self, finished: Finished, header: dict[str, Any]) -> Finished:
        """Hold against the candidate what was found in its files, and in none of the user's."""
        found = header.get("tampering") or ()
        evidence = [words for words in (self._evidence(one) for one in found) if words]
        left_in = header.get("left_in")
        fault = finished.fault
        if left_in and self._origin(left_in) != "protected" and finished.exit in (0, 1):
            name = self._relative(left_in)
            fault = f"tampering: {name} left the evaluator's process before its end ({fault or 'exit 0'})"
        files = tuple(self._relative(path) for path in header.get("files") or ())
        return replace(finished, tampering=tuple(evidence), fault=fault, inside=files)

    def _evidence(self, found: dict[str, str | None]) -> str | None:
        what, path = found["what"], found["file"]
        if path is None:
            return what
        origin = self._origin(path)
        if origin == "protected" or (found.get("kind") == "shadow" and origin != "added"):
            return None
        return f"{what} by {self._relative(path)}"

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self._checkout)

    def _origin(self, path: str) -> Origin:
        relative = PurePosixPath(self._relative(path))
        for item in self._spec.provisions():
            if relative.is_relative_to(PurePosixPath(self._folder) / item.path):
                return "protected"
        if self._spec.origin is not None:
            return self._spec.origin(str(relative))
        named = [PurePosixPath(self._folder) / word for word in self._spec.words()]
        return "protected" if relative in named else "editable"

    def _outcome_of_death(self, words: str) -> Outcome:
        """Say whose fault it is that the server is dead: behind walls no candidate can reach it."""
        self._deaths += 1
        self._modules = None
        if self._deaths >= _DEATHS and self.sandbox.tier == "namespaces":
            raise EvaluatorError(f"the evaluation server died {self._deaths} times in a row: {words}")
        if self.sandbox.tier == "processes":
            return Outcome("failed", reason="the candidate killed the process that judged it")
        return Outcome("could_not_judge", reason=f"the evaluation server died: {words}")

    def _as_asked(self, request: Request) -> dict[str, Any]:
        known = {"known": list(self._spec.known)} if self._spec.known else {}
        return {"version": contract.VERSION, **asdict(request), "scratch": str(self._scratch), **known}

    async def _ready(self) -> ServerProcess:
        places = tuple((info.st_dev, info.st_ino) for info in (self._checkout.stat(), self._scratch.stat()))
        known = self._server
        outworn = known is not None and (known.evaluations >= RECYCLE_AFTER or known.outgrown)
        if outworn or places != self._places:  # a folder that was made anew is not the one inside the walls
            await self._drop()
        self._places = places
        if self._server is None:
            self._server = await self._start()
        return self._server

    async def _start(self) -> ServerProcess:
        # The walls stand around the user's interpreter; a command's server itself runs on ours.
        python = self._python if self._spec.function is not None else self._own
        try:
            server = await ServerProcess.start(python.executable, self._config(python))
        except NoWalls as error:
            self._walls = False
            self._reason = str(error)
            self.sandbox = described(False, (), self._spec.network, self._reason)
            if self._spec.sandbox == "strict":
                check_strict(self.sandbox)
            return await self._start()
        self.sandbox = described(self._walls, server.missing, self._spec.network, self._reason)
        if self._spec.sandbox == "strict":
            try:
                check_strict(self.sandbox)
            except EvaluatorError:
                await server.stop()
                raise
        return server

    async def _drop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

    def _config(self, python: Interpreter) -> dict[str, Any]:
        spec = self._spec
        show = dict.fromkeys([*visible(spec, self._python), *visible(spec, python)])
        env = environment(spec, self._python, self._scratch)
        tree = spec.root.parents[len(Path(self._folder).parts) - 1] if self._folder else spec.root
        follow = followed(self._python, tree, self._checkout)
        return {
            **self._what_to_run(),
            "env": env,
            "follow": follow,
            "checkout": str(self._checkout),
            "work": str(self._checkout / self._folder),
            "scratch": str(self._scratch),
            "sandbox": spec.sandbox,
            "walls": self._walls,
            "show": list(show),
            "hide": [str(path) for path in hidden_folders(spec)],
            "provided": [[item.path, str(item.source.resolve())] for item in spec.provisions()],
            "network": spec.network,
            "memory": spec.memory,
            "processes": _PROCESSES,
            "tmp_bytes": spec.memory or min(_TMP_BYTES, _machine_memory() // 4),
            "cpus": self._processors(),
            "output_cap": spec.output_cap,
            "supplied": str(SUPPLIED),
            "warm": {"auto": "auto", True: "always", False: False}[spec.warm],
            "modules": self._modules if spec.warm else None,
        }

    def _what_to_run(self) -> dict[str, Any]:
        if self._spec.function is not None:
            file, name = self._spec.function_parts()
            foreign = self._spec.foreign and self._spec.foreign.settings()
            return {"kind": "function", "file": file, "name": name, "foreign": foreign}
        argv = list(self._spec.argv) or command_line(self._spec.command or "")
        vouch = argv[0] in ("python", "python3")
        if vouch:
            argv[0] = self._python.executable
        elif argv[:2] == ["/bin/sh", "-c"]:
            call = f'{shlex.quote(self._python.executable)} "$@"'
            argv[2] = f"python() {{ {call}; }}; python3() {{ {call}; }}; {argv[2]}"
        return {"kind": "command", "argv": argv, "vouch": vouch}

    def _processors(self) -> list[int] | None:
        """Choose this slot's processors, so that slots side by side have different ones."""
        if self._spec.cpus is None:
            return None
        available = sorted(os.sched_getaffinity(0))
        first = self._slot * self._spec.cpus
        return sorted({available[(first + k) % len(available)] for k in range(self._spec.cpus)})


def _finished(header: dict[str, Any], blobs: dict[str, bytes], limit: float) -> Finished:
    return Finished(
        exit=header["exit"],
        signal=header["signal"],
        timed_out=header.get("timed_out", False),
        stdout=blobs.get("stdout", b""),
        stderr=blobs.get("stderr", b""),
        result=blobs.get("result"),
        seconds=header["seconds"],
        cpu_seconds=header["cpu_seconds"],
        killed_for=header.get("killed_for"),
        limit=limit,
        fault=header.get("fault"),
        result_problem=header.get("result_problem"),
        last_line=blobs.get("last_line"),
        own_line=blobs.get("own_line"),
        wrote_result=header.get("wrote_result"),
        isolated=header.get("isolated", 0),
    )


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
