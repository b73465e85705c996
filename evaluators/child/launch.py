"""What a forked child does to itself before it runs anything of the user's."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any, Collection, Mapping, Sequence

from . import linux

_FILE_BYTES = 8 * 1024**3
_OPEN_FILES = 4096
_SLACK = 64 * 1024**2
"""Beyond the memory limit, for what is reserved and never used; the watchdog counts what is used."""


def enter(config: Mapping[str, Any], streams: Sequence[int], keep: Collection[int], walled: bool) -> None:
    """Leave the server behind: own session, own streams, no other descriptor, limits, no privileges.

    Args:
        config: The server's configuration.
        streams: Descriptors that become standard input, output and error.
        keep: Further descriptors that stay open, across `exec` too.
        walled: Whether this happens inside namespaces.
    """
    os.setsid()
    linux.die_with_parent(signal.SIGKILL)
    if walled:
        _new_ipc()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    _close_all_but(keep)
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    _reset_signals()
    os.umask(0o022)
    os.chdir(config["work"])
    _limit(config, walled)
    if config["sandbox"] != "none":
        linux.no_new_privileges()
    if walled:
        linux.drop_capabilities()
        linux.set_dumpable(True)


def _new_ipc() -> None:
    try:
        linux.unshare(linux.CLONE_NEWIPC)
    except OSError:
        pass  # reported as a missing wall when the server started


def _close_all_but(keep: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                pass  # the one that the listing itself had used


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _limit(config: Mapping[str, Any], walled: bool) -> None:
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, _FILE_BYTES)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    if config["memory"]:
        _lower(resource.RLIMIT_DATA, config["memory"] + _SLACK)
    if walled:  # elsewhere the limit would count all the user's processes
        _lower(resource.RLIMIT_NPROC, config["processes"])


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or value < hard:
        resource.setrlimit(kind, (value, value))
