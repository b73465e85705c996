"""The outermost process of a slot: makes the server, waits for it, and leaves nothing behind.

It exists because a process cannot enter a PID namespace itself, only its children can, and because
somebody has to sweep when the server is killed. It never runs anything of the user's. When the
orchestrator dies, in whatever way, the kernel sends it SIGTERM; it kills the server, and with the first
process of the namespace all others die.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from . import linux, server, tree, walls, wire

_OOM_SCORE = "500"


def main(control: int) -> None:
    """Read the configuration, fork the server, wait for its end, sweep."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    linux.die_with_parent(signal.SIGTERM)
    config = _configuration(control)
    if config is None:
        return
    _prefer_for_out_of_memory()
    linux.adopt_orphans()
    walled = config["walls"] and _enter(control)
    if walled is None:
        return
    pid = os.fork()
    if pid == 0:
        try:
            server.main(control, config, walled)
        finally:
            os._exit(0)
    os.close(control)
    _wait(pid)


def _configuration(control: int) -> dict[str, Any] | None:
    inbox = wire.Inbox()
    while True:
        message = inbox.take()
        if message is not None:
            return message[0]
        data = os.read(control, 1 << 16)
        if not data:
            return None
        inbox.feed(data)


def _enter(control: int) -> bool | None:
    try:
        walls.enter_user_namespace()
    except OSError as error:
        os.write(control, wire.pack({"no_walls": str(error)}))
        return None
    return True


def _prefer_for_out_of_memory() -> None:
    """Let the kernel, if it must kill, kill an evaluation and not the orchestrator."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_OOM_SCORE)
    except OSError:
        pass  # a kernel or container that does not allow it


def _wait(pid: int) -> None:
    def end(*_: object) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    signal.signal(signal.SIGTERM, end)
    family = tree.Tree(own_namespace=False)
    while True:
        left, status = family.reap(pid, block=True)
        if status is not None or not left:
            break
    family.sweep()
    sys.exit(0)
