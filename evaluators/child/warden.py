"""The second wall: one program of the candidate's, run for the evaluator and out of its reach.

An evaluation has no capabilities left and may make no namespaces, so it cannot wall anything off. It asks
the server over a socket, with the ends of the program's streams. The server forks this warden, whose child
is the first process of a further PID namespace, with its own mounts: scratch and temporary folders empty,
the checkout read-only, what the evaluator wants hidden covered, its own /proc, no network. Only then comes
the program, without capabilities. It ends when the program ends, when its memory is used up, or when the
evaluator closes its end of the status pipe; whatever the program has started ends with the namespace.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import time
import traceback
from typing import Any, Mapping

from . import launch, linux, tree, walls

_MESSAGE_BYTES = 192 * 1024
_MOST_DESCRIPTORS = 5
_LOOK_MILLISECONDS = 50


def receive(way: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Take one request and its descriptors; None if it makes no sense.

    Raises:
        EOFError: Nobody can ask any more.
    """
    descriptors = array.array("i")
    room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * descriptors.itemsize)
    try:
        data, ancillary, _, _ = way.recvmsg(_MESSAGE_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    except (BlockingIOError, ConnectionResetError):
        return None
    if not data:
        raise EOFError
    for level, kind, part in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(part[: len(part) - len(part) % descriptors.itemsize])
    try:
        request = json.loads(data)
        if len(descriptors) >= 4 and _sound(request):
            return request, list(descriptors)
    except (ValueError, RecursionError):
        pass
    for descriptor in descriptors:
        os.close(descriptor)
    return None


def start(config: Mapping[str, Any], request: Mapping[str, Any], descriptors: list[int]) -> None:
    """Fork the warden of one program."""
    if os.fork() == 0:
        try:
            _guard(config, request, descriptors)
        except BaseException:  # nothing may come back into the server's loop
            os.write(descriptors[3], traceback.format_exc().encode("utf-8", "replace"))
        finally:
            os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)


def _sound(request: Any) -> bool:
    words = [*request["argv"], request["cwd"], *request["hide"], *request["env"], *request["env"].values()]
    memory = request["memory"]
    return (
        bool(request["argv"])
        and all(isinstance(word, str) and "\0" not in word for word in words)
        and (memory is None or (isinstance(memory, int) and memory > 0))
    )


def _guard(config: Mapping[str, Any], request: Mapping[str, Any], descriptors: list[int]) -> None:
    status, *streams = descriptors
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    linux.unshare(linux.CLONE_NEWPID)
    first = os.fork()
    if first == 0:
        try:
            _first_process(config, request, status, streams)
        except BaseException:
            os.write(streams[2], traceback.format_exc().encode("utf-8", "replace"))
        finally:
            os._exit(1)
    for descriptor in streams:
        os.close(descriptor)
    killed_for = _watch(first, status, request["memory"])
    os.waitpid(first, 0)
    if killed_for:
        _tell(status, {"killed_for": killed_for})


def _watch(first: int, status: int, memory: int | None) -> str | None:
    """Wait for the end of the first process, or bring it about."""
    ended = os.pidfd_open(first) if hasattr(os, "pidfd_open") else -1
    poll = select.poll()
    poll.register(status, 0)  # an error is told always: nobody reads the status any more
    if ended >= 0:
        poll.register(ended, select.POLLIN)
    family = tree.Tree(own_namespace=False)
    while True:
        pause = _LOOK_MILLISECONDS if memory or ended < 0 else None
        for descriptor, _ in poll.poll(pause):
            if descriptor == status:
                os.kill(first, signal.SIGKILL)
            return None
        if ended < 0 and os.waitid(os.P_PID, first, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return None
        if memory and family.usage()[0] > memory:
            os.kill(first, signal.SIGKILL)
            return "memory"


def _first_process(
    config: Mapping[str, Any], request: Mapping[str, Any], status: int, streams: list[int]
) -> None:
    linux.die_with_parent(signal.SIGKILL)
    _separate(config, request["hide"])
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(config, request, streams)
    for descriptor in streams:
        os.close(descriptor)
    while True:
        ended, how, usage = os.wait4(-1, 0)
        if ended == pid:
            break
    signalled = os.WIFSIGNALED(how)
    _tell(
        status,
        {
            "exit": None if signalled else os.WEXITSTATUS(how),
            "signal": os.WTERMSIG(how) if signalled else None,
            "seconds": time.monotonic() - began,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
        },
    )
    os._exit(0)


def _separate(config: Mapping[str, Any], hide: list[str]) -> None:
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC)
    try:
        linux.unshare(linux.CLONE_NEWNET)
        walls.bring_up_loopback()
    except OSError:
        pass  # the evaluation itself has no network either, unless it is allowed
    flags = linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("proc", "/proc", "proc", flags | linux.MS_NOEXEC)
    linux.remount("/proc", add=linux.MS_RDONLY)
    scratch, checkout = config["scratch"], config["checkout"]
    inside = [path for path in hide if path.startswith(checkout + "/")]
    for path in inside:
        if os.path.isdir(path):
            linux.mount("tmpfs", path, "tmpfs", flags | linux.MS_RDONLY, "mode=0755,size=4096")
        elif os.path.exists(path):
            linux.bind("/dev/null", path)
    linux.remount(checkout, add=linux.MS_RDONLY)
    for path in ("/tmp", "/var/tmp", "/dev/shm", scratch):
        if any(one.startswith(path + "/") for one in (checkout, scratch, *config["show"])):
            linux.remount(path, add=linux.MS_RDONLY)  # a cover would hide what the program needs
        elif os.path.isdir(path):
            linux.mount("tmpfs", path, "tmpfs", flags, f"mode=1777,size={config['tmp_bytes']}")


def _become(config: Mapping[str, Any], request: Mapping[str, Any], streams: list[int]) -> None:
    code = 126
    try:
        streams = [_out_of_the_way(descriptor) for descriptor in streams]
        limits = {**config, "work": request["cwd"], "memory": request["memory"] or config["memory"]}
        launch.enter(limits, streams, [3] if len(streams) > 3 else [], True)
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except OSError as error:
        os.write(2, f"{request['argv'][0]}: cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(code)


def _out_of_the_way(descriptor: int) -> int:
    """Move a descriptor above those it shall become one of."""
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 16)


def _tell(status: int, how: Mapping[str, Any]) -> None:
    try:
        os.write(status, json.dumps(how).encode() + b"\n")
    except BrokenPipeError:
        pass  # the evaluator does not want to know any more
