"""The server of one evaluation slot: lives long, forks for each evaluation, holds nothing of any candidate.

Problem: starting an interpreter and importing numpy costs a hundred times what many evaluations cost; a
process that stays and judges one candidate after another is poisoned by the first that patches a module.

Choice: this process never loads a file from the checkout. It forks a child for each evaluation, which
does, and which is gone afterwards with everything it started. To make the child's start cheap, the first
evaluation names the libraries it has imported from outside the checkout; a trial fork imports them and
counts its threads; if there is only the one, the server imports them too, once. A library that starts a
thread at import would leave locks in unknown states in each fork, so then all evaluations stay cold.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from typing import Any

from . import evaluation, folders, function, integrity, linux, placing, tree, walls, wire

_TRIAL_SECONDS = 40


class Gone(Exception):
    """The runner is not there any more."""


class Stop(BaseException):
    """The keeper is gone or asks for the end."""


def _stop(*_: object) -> None:
    raise Stop


class Server:
    """Answers one runner."""

    def __init__(self, control: int, config: dict[str, Any], walled: bool) -> None:
        self._control = control
        self._config = config
        self._walled = walled
        self._inbox = wire.Inbox()
        self._family = tree.Tree(own_namespace=walled)
        self._missing: list[str] = [] if walled else list(walls.NAMES)
        self._shared: list[str] = []
        self._kept: list[str] = []
        self._warm = False
        self.ready = False

    def run(self) -> None:
        """Put up the walls, say so, and answer until the runner is gone."""
        try:
            self._prepare()
            self.ready = True
            self._send({"ready": True, "missing": self._missing, "warm": self._warm})
            while True:
                header, _ = self._receive()
                if "evaluate" in header:
                    self._evaluate(header["evaluate"], header["timeout"])
        except (Gone, Stop, BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self._family.sweep()

    def _prepare(self) -> None:
        config = self._config
        if config.get("foreign"):
            from . import foreign  # noqa: F401  # its files are out of sight behind the walls
        opened = None
        if self._walled:
            own = walls.Walls(config)
            opened = own.build([source for _, source in config["provided"]])
            self._missing, self._shared, self._kept = own.missing, own.shared, own.kept
        else:
            linux.adopt_orphans()
        self._placing = placing.Placing(config["work"], config["provided"], opened)
        self._scratch = os.open(config["scratch"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if config["cpus"]:
            os.sched_setaffinity(0, config["cpus"])
        os.chdir("/")
        self._wakeup = _wake_on_child()
        sys.path[:] = [path for path in sys.path if path not in config["follow"]]
        self._baseline = frozenset(sys.modules)
        if config["modules"]:
            self._preload(config["modules"])
        self._settle()

    def _settle(self) -> None:
        """Look once at what each evaluation begins with, and keep its collections off it."""
        self._before = integrity.snapshot()
        gc.collect()
        gc.freeze()

    def _evaluate(self, request: dict[str, Any], timeout: float) -> None:
        scratch = self._config["scratch"]
        folders.empty(scratch, [*self._kept, f"{scratch}/{evaluation.REQUEST}"])
        for folder in self._shared:
            folders.empty(folder, self._kept)
        try:
            self._placing.put()
        except placing.PlacingError as error:
            self._placing.take()
            self._send({"exit": 1, "signal": None, "seconds": 0.0, "cpu_seconds": 0.0, "fault": str(error)})
            return
        run = evaluation.Evaluation(self._config, request, self._family, self._scratch, self._walled)
        try:
            run.start(self._baseline, self._before)
            run.watch(self._wakeup, self._control, self._is_cancelled, timeout)
            header, blobs = run.finish()
        finally:
            run.abandon()
        self._placing.take()
        modules = header.get("modules")
        preloading = modules if self._config["warm"] else None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self._send({**header, "preloading": bool(preloading), "peak": peak}, blobs)
        if preloading:
            self._preload(preloading)
            self._send({"preloaded": self._warm})
        elif "result" in blobs:
            self._config["warm"] = False  # it needs none, and to list what it has imported takes its time

    def _preload(self, modules: list[str]) -> None:
        """Import the libraries if a trial shows that they leave this process with its one thread."""
        insists = self._config["warm"] == "always"
        self._config["warm"] = False
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _try_imports(writer, modules)
        os.close(writer)
        with open(reader, "rb") as pipe:
            reply = pipe.read()
        self._family.sweep()
        try:
            loaded, threads = json.loads(reply)
        except ValueError:
            return
        if threads == 1 or insists:
            function.preload(loaded)
            self._settle()
            self._warm = True

    def _is_cancelled(self) -> bool:
        """Read what the runner has to say during an evaluation: nothing but that it shall stop."""
        self._fill()
        message = self._inbox.take()
        return message is not None and "cancel" in message[0]

    def _receive(self) -> wire.Message:
        while True:
            message = self._inbox.take()
            if message is not None:
                return message
            self._fill()

    def _fill(self) -> None:
        data = os.read(self._control, 1 << 16)
        if not data:
            raise Gone
        self._inbox.feed(data)

    def _send(self, header: dict[str, Any], blobs: dict[str, bytes] | None = None) -> None:
        view = memoryview(wire.pack(header, blobs))
        while view:
            view = view[os.write(self._control, view) :]


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def _try_imports(writer: int, modules: list[str]) -> None:
    try:
        signal.set_wakeup_fd(-1)
        signal.alarm(_TRIAL_SECONDS)
        loaded = function.preload(modules)
        threads = len(os.listdir("/proc/self/task"))
        os.write(writer, json.dumps([loaded, threads]).encode())
    finally:
        os._exit(0)


def main(control: int, config: dict[str, Any], walled: bool) -> None:
    """Run the server in a process that the keeper has forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL if walled else _stop)
    linux.die_with_parent(signal.SIGKILL if walled else signal.SIGTERM)
    server = Server(control, config, walled)
    try:
        server.run()
    except OSError as error:
        key = "broken" if server.ready or not walled else "no_walls"
        os.write(control, wire.pack({key: str(error)}))
