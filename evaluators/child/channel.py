"""The private way from an evaluation to the runner."""

from __future__ import annotations

import os
import threading
import types
from typing import Any, Callable, Dict

from . import integrity

Reply = Dict[str, Any]


class Failed(Exception):
    """The candidate has no score; the message says why."""


class Channel:
    """The way to the runner, and what goes along with each answer; the first answer is the only one.

    Attributes:
        watch: Notices code that lies about itself.
        instead: What another process than this one has noticed, if it was another that judged.
    """

    def __init__(self, pipe: int, watch: integrity.Watch, write: Callable[[Reply], None]) -> None:
        self.watch = watch
        self.instead: Reply = {}
        self._pipe = pipe
        self._write = write
        self._first = threading.Lock()
        self._code: types.CodeType | None = None
        self._namespace: dict[str, Any] = {}

    def loading(self, module: types.ModuleType, code: types.CodeType | None) -> None:
        """Note which file is the evaluator's own."""
        self._code, self._namespace = code, vars(module)

    def noticed(self) -> Reply:
        """Return what has been noticed in this process."""
        return {
            "tampering": self.watch.findings(self._code, self._namespace),
            "files": self.watch.files(),
        }

    def send(self, reply: Reply) -> None:
        """Send the answer; whoever comes second waits for the end of the process."""
        self._first.acquire()
        self._write({**reply, **self.noticed(), **self.instead})

    def close(self) -> None:
        """Give up the way to the runner, in a process that has no business with it."""
        os.close(self._pipe)
