"""Everything an evaluation has started: how much it uses, and its end.

A process may leave its group and its session, ignore every polite signal and outlive its parent; it
cannot leave the PID namespace it was born in, nor the descent of a subreaper. In a namespace whose first
process we are, one `kill(-1)` reaches all at once, also those that are being forked right now. Elsewhere
the descendants are found in /proc, stopped so that they cannot fork any more, and killed, until none is
left to wait for.
"""

from __future__ import annotations

import os
import signal
import time

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Tree:
    """The processes below this one.

    Attributes:
        cpu_seconds: Processor time of those that have ended since the last `restart`.
    """

    def __init__(self, own_namespace: bool) -> None:
        self._own_namespace = own_namespace
        self.cpu_seconds = 0.0

    def restart(self) -> None:
        """Begin to count anew."""
        self.cpu_seconds = 0.0

    def reap(self, wanted: int, block: bool = False) -> tuple[bool, int | None]:
        """Take the ended children; return whether any is left, and the status of `wanted` if it ended."""
        status = None
        while True:
            try:
                pid, ended, usage = os.wait4(-1, 0 if block else os.WNOHANG)
            except ChildProcessError:
                return False, status
            if pid == 0:
                return True, status
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            if pid == wanted:
                status = ended
                if block:
                    return True, status

    def sweep(self) -> None:
        """Kill everything below this process and wait until nothing is left."""
        pause = 0.0005
        while self.reap(0)[0]:
            self._kill_all()
            if self._own_namespace:
                self.reap(0, block=True)
                return
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def usage(self) -> tuple[int, int]:
        """Return bytes of memory and number of processes below this one."""
        pids = self.members()
        return sum(_private_bytes(pid) for pid in pids), len(pids)

    def shared_fairly(self) -> int:
        """Return bytes of memory below this process, pages shared after a fork counted once; slow."""
        return sum(_proportional_bytes(pid) for pid in self.members())

    def members(self) -> list[int]:
        """Return the processes below this one."""
        own = os.getpid()
        if self._own_namespace:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own]
        return _descendants(own)

    def _kill_all(self) -> None:
        if self._own_namespace:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self.members():
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    pass


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _read(f"/proc/{name}/stat")
            fields = stat[stat.rfind(b")") + 1 :].split()
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _private_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def _proportional_bytes(pid: int) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").split(b"\n"):
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return _private_bytes(pid)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
