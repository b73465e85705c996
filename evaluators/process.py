"""The child server as seen from trio: started, asked, cancelled, stopped.

Neither `trio.run_process` nor a worker thread may start it: the kernel ties "die with your parent" to the
thread that forks, trio retires its threads after ten idle seconds, and the server would die with one.
`Popen` on trio's own thread costs half a millisecond, once per slot.
"""

from __future__ import annotations

import math
import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import trio

from archives.errors import EvaluatorError
from evaluators.child import wire
from evaluators.text import one_line

SERVE = Path(__file__).parent / "child" / "serve.py"
_START_SECONDS = 60.0
_GRACE_SECONDS = 10.0
_STOP_SECONDS = 3.0
_PRELOAD_SECONDS = 120.0
GROWTH = 256 * 1024**2
"""Bytes of memory by which a server may grow before another one takes its place."""


class NoWalls(Exception):
    """The machine does not allow the walls; the message says why."""


class ServerDied(Exception):
    """The server ended without having answered; the message says what is known."""


class ServerProcess:
    """One running child server.

    Attributes:
        evaluations: How many it was asked for.
        missing: Walls that it could not put up.
        outgrown: Whether it takes so much more memory than at first that another should take its place.
    """

    def __init__(self, process: subprocess.Popen[bytes], stream: trio.SocketStream, log: IO[bytes]) -> None:
        self._process = process
        self._stream = stream
        self._log = log
        self._inbox = wire.Inbox()
        self._preloading = False
        self.evaluations = 0
        self.missing: tuple[str, ...] = ()
        self.outgrown = False
        self._settled = 0

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.returncode is None

    @classmethod
    async def start(cls, python: str, config: dict[str, Any]) -> ServerProcess:
        """Start a server and wait until its walls stand.

        Raises:
            NoWalls: They cannot be had.
            EvaluatorError: It does not start.
        """
        ours, theirs = socket.socketpair()
        log = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the server)
        with theirs:
            try:
                process = subprocess.Popen(
                    [python, str(SERVE)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    env=config["env"],
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                log.close()
                raise EvaluatorError(f"{python} cannot be started: {error.strerror}") from None
        ours.setblocking(False)
        server = cls(process, trio.SocketStream(trio.socket.from_stdlib_socket(ours)), log)
        try:
            await server._greet(config)
        except BaseException:
            await server.stop()
            raise
        return server

    async def ask(self, request: Mapping[str, Any], timeout: float) -> wire.Message | None:
        """Have one evaluation done; None if the server itself overran the time limit and was stopped.

        Raises:
            ServerDied: It ended instead of answering.
        """
        self.evaluations += 1
        sent = False
        try:
            await self._await_preload()
            with trio.move_on_after(timeout + _GRACE_SECONDS):
                await self._send({"evaluate": dict(request), "timeout": timeout})
                sent = True
                answer = await self._receive()
                self._preloading = answer[0].get("preloading", False)
                self._measure(answer[0].get("peak", 0))
                return answer
        except trio.Cancelled:
            await self._cancel(sent)
            raise
        await self.stop()
        return None

    def _measure(self, peak: int) -> None:
        """Compare its memory with what it had when nothing was left to import."""
        if self._preloading or not self._settled:
            self._settled = 0 if self._preloading else peak
        self.outgrown = bool(self._settled) and peak > self._settled + GROWTH

    async def stop(self) -> None:
        """End the server and everything below it; safe to call twice and when cancelled."""
        with trio.CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.terminate()
                if not await self._ended(_STOP_SECONDS):
                    self._process.kill()
                    await self._ended(math.inf)
            with trio.move_on_after(
                _STOP_SECONDS
            ):  # the last one below to hold our socket is gone at its end
                await self._await_end_of_stream()
            await trio.aclose_forcefully(self._stream)
            self._log.close()

    async def _greet(self, config: Mapping[str, Any]) -> None:
        with trio.move_on_after(_START_SECONDS):
            try:
                await self._send(config)
                header, _ = await self._receive()
            except ServerDied as error:
                raise EvaluatorError(f"the evaluation server does not start: {error}") from None
            if "no_walls" in header:
                raise NoWalls(header["no_walls"])
            if "ready" not in header:
                raise EvaluatorError(f"the evaluation server does not start: {header.get('broken')}")
            self.missing = tuple(header["missing"])
            return
        raise EvaluatorError(f"the evaluation server does not start within {_START_SECONDS:g} s")

    async def _cancel(self, sent: bool) -> None:
        """Have the running evaluation killed; a server that does not confirm it at once is stopped."""
        with trio.CancelScope(shield=True):
            if sent:
                with trio.move_on_after(_STOP_SECONDS):
                    try:
                        await self._send({"cancel": True})
                        header, _ = await self._receive()
                        self._preloading = header.get("preloading", False)
                        return
                    except ServerDied:
                        pass
            await self.stop()

    async def _await_preload(self) -> None:
        """Wait while the server imports libraries; that time is nobody's evaluation."""
        if not self._preloading:
            return
        with trio.move_on_after(_PRELOAD_SECONDS):
            await self._receive()
            self._preloading = False
            return
        raise ServerDied(f"it took more than {_PRELOAD_SECONDS:g} s to load the evaluator's libraries")

    async def _send(self, header: Mapping[str, Any]) -> None:
        try:
            await self._stream.send_all(wire.pack(header))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ServerDied(self._last_words()) from None

    async def _receive(self) -> wire.Message:
        while (message := self._inbox.take()) is None:
            try:
                data = await self._stream.receive_some(1 << 18)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ServerDied(self._last_words())
            self._inbox.feed(data)
        return message

    async def _await_end_of_stream(self) -> None:
        try:
            while await self._stream.receive_some(1 << 18):
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def _ended(self, seconds: float) -> bool:
        """Wait for the process and reap it; return whether it ended in time."""
        if self._process.poll() is not None:
            return True
        descriptor = os.pidfd_open(self._process.pid)
        try:
            with trio.move_on_after(seconds):
                await trio.lowlevel.wait_readable(descriptor)
        finally:
            os.close(descriptor)
        return self._process.poll() is not None

    def _last_words(self) -> str:
        if self._log.closed:
            return "it was stopped"
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return one_line(lines[-1]) if lines else "it ended without a word"
