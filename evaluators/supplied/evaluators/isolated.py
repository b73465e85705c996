"""Run untrusted code behind a second wall, from an evaluator, and get nothing back but data.

    from evaluators.isolated import Failed, call, run

    plan = call("solver.py:plan", [3, 1, 2], timeout=5)      # a function of a file: JSON in, JSON out
    done = run(["python", "solver.py"], input="3 1 2", timeout=5)

Code that an evaluator imports shares its process: it can exchange clocks and functions, leave early or write
the result itself. Here it gets a process of its own, without the evaluator's environment, descriptors or
result file. Inside an evaluation with walls, that process also has its own process tree, an empty scratch
folder and no network, reads the checkout and cannot change it, and sees nothing of what `hide` names.
Without walls, and when an evaluator is tried by hand, it is a process with limits, and no more.

One file of the standard library only, Python 3.8 or later; each evaluator's process can import it.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, NoReturn, Sequence

__all__ = ["Failed", "Ran", "Worker", "call", "run"]

_BROKER = "EVOLVE_ISOLATED"
_HANDED_ON = ("PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHASHSEED")
_HANDED_ON_STARTS = ("LANG", "LC_", "OMP_", "OPENBLAS_", "MKL_", "NUMEXPR_", "PYTHONDONTWRITE")
_LENGTH = struct.Struct("!I")
_REPLY_BYTES = 64 * 1024 * 1024
_OUTPUT_BYTES = 64 * 1024
_STATUS_SECONDS = 5.0


class Failed(Exception):
    """The untrusted code gave no answer; the message says why.

    Attributes:
        output: The end of what it printed.
    """

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


@dataclass(frozen=True)
class Ran:
    """What a command left.

    Attributes:
        exit: Exit code; below zero, the signal that ended it.
        stdout: Standard output, at most `output` bytes of it.
        stderr: Standard error, likewise.
        seconds: Wall time, from its start to its end.
        cpu_seconds: Processor time of it and of what it waited for; None where that is not known.
    """

    exit: int
    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float | None = None


def call(
    function: str,
    *args: Any,
    timeout: float = 60.0,
    memory: int | None = None,
    hide: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
) -> Any:
    """Call a function of a Python file in a process of its own and return what it returns.

    Args:
        function: "file.py:name", relative to the current folder.
        args: Arguments; JSON is what passes.
        timeout: Seconds it may take, import included.
        memory: Bytes it may use.
        hide: Files and folders that it shall not see, such as expected answers.
        env: Further environment variables for it.

    Raises:
        Failed: It raised, left early, took too long or too much, or returned what JSON cannot hold.
    """
    with Worker(function, memory=memory, hide=hide, env=env) as worker:
        return worker(*args, timeout=timeout)


def run(
    argv: Sequence[str],
    input: str = "",
    timeout: float = 60.0,
    memory: int | None = None,
    hide: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    output: int = 16 * 1024 * 1024,
    folder: str | None = None,
) -> Ran:
    """Run a command in a process tree of its own; everything it has started ends with it.

    Args:
        argv: Program and arguments; "python" is the evaluator's own interpreter.
        input: What it reads on standard input.
        timeout: Seconds it may take.
        memory: Bytes it may use.
        hide: Files and folders that it shall not see.
        env: Further environment variables for it.
        output: Most bytes kept of standard output and of standard error.
        folder: Folder that it works in; default: the current one.

    Raises:
        Failed: It cannot be started, took too long, or used too much memory.
    """
    program = [sys.executable if argv[0] in ("python", "python3") else argv[0], *argv[1:]]
    began = time.monotonic()
    process = _start(program, memory, hide, env, reply=False, folder=folder)
    try:
        streams = process.exchange(input.encode(), began + timeout, output)
        status = process.wait(began + timeout)
    except _TooLong:
        raise Failed(f"time limit of {timeout:g} s reached", _text(process.printed())) from None
    finally:
        process.end()
    stdout, stderr = (bytes(data).decode("utf-8", "replace") for data in streams)
    if status.get("killed_for"):
        raise Failed(f"{status['killed_for']} limit exceeded: killed", stderr[-_OUTPUT_BYTES:])
    code = status.get("exit")
    if code is None:
        code = -int(status.get("signal") or 0)
    seconds = status.get("seconds") or time.monotonic() - began
    return Ran(code, stdout, stderr, seconds, status.get("cpu_seconds"))


class Worker:
    """A function of a file that may be called many times in one process of its own; a context manager."""

    def __init__(
        self,
        function: str,
        memory: int | None = None,
        hide: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> None:
        """Start the process; the file is loaded at the first call.

        Args:
            function: "file.py:name".
            memory: Bytes it may use.
            hide: Files and folders that it shall not see.
            env: Further environment variables for it.
            folder: Folder that the file is in and that the process works in; default: the current one.
        """
        program = [sys.executable, os.path.abspath(__file__), function]
        self._process = _start(program, memory, hide, env, reply=True, folder=folder)

    @property
    def pid(self) -> int | None:
        """Its process, where that can be seen from here."""
        return self._process.pid

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.end()

    def __call__(self, *args: Any, timeout: float = 60.0) -> Any:
        """Call the function.

        Raises:
            Failed: As `call` does; after that the process is gone.
        """
        return self._ask({"args": args, "times": 0}, timeout)["returned"]

    def repeat(self, times: int, *args: Any, timeout: float = math.inf) -> tuple[float, float]:
        """Call the function so many times and forget what it returns.

        Returns:
            Seconds its process waited for a processor meanwhile, and seconds it ran, as it says itself.

        Raises:
            Failed: As `call` does.
        """
        reply = self._ask({"args": args, "times": times}, timeout)
        try:
            return float(reply["waited"]), float(reply["ran"])
        except (KeyError, TypeError, ValueError):
            return 0.0, 0.0

    def _ask(self, request: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        try:
            reply = self._process.ask(json.dumps(request).encode(), time.monotonic() + timeout)
        except _TooLong:
            self._fail(f"time limit of {timeout:g} s reached")
        if reply is None:
            status = self._process.wait(time.monotonic() + _STATUS_SECONDS)
            self._fail(_how_it_ended(status))
        try:
            answer = json.loads(reply or b"")
            if "returned" in answer:
                return dict(answer)
            reason = str(answer["raised"])
        except (ValueError, KeyError, TypeError, RecursionError):
            reason = "it wrote to its reply what is none"
        return self._fail(reason)

    def _fail(self, reason: str) -> NoReturn:
        output = _text(self._process.printed())
        self._process.end()
        raise Failed(reason, output)


class _TooLong(Exception):
    """The time is over."""


class _Process:
    """One isolated process: our ends of its streams, and how to end it."""

    def __init__(self, ends: Mapping[str, int], popen: subprocess.Popen[bytes] | None) -> None:
        self._ends = dict(ends)
        self._popen = popen
        self._printed = {"stdout": bytearray(), "stderr": bytearray()}
        self._keep = _OUTPUT_BYTES
        self._replies = bytearray()
        for name, descriptor in ends.items():
            os.set_blocking(descriptor, name == "status")

    @property
    def pid(self) -> int | None:
        return None if self._popen is None else self._popen.pid

    def ask(self, data: bytes, deadline: float) -> bytes | None:
        """Send one message and return the answer; None if the process ended instead."""
        waiting = bytearray(_LENGTH.pack(len(data)) + data)
        while True:
            answer = self._whole_reply()
            if answer is not None:
                return answer
            if "reply" not in self._ends or len(self._replies) > _REPLY_BYTES + _LENGTH.size:
                return None
            waiting = self._move(waiting, deadline)

    def exchange(self, data: bytes, deadline: float, keep: int) -> tuple[bytearray, bytearray]:
        """Feed standard input and take what is printed until both streams are closed."""
        self._keep = keep
        waiting = bytearray(data)
        if not waiting:
            self._close("stdin")
        while "stdout" in self._ends or "stderr" in self._ends:
            waiting = self._move(waiting, deadline)
            if not waiting:
                self._close("stdin")
        return self._printed["stdout"], self._printed["stderr"]

    def printed(self) -> bytes:
        """Return what it printed, standard error last."""
        return bytes(self._printed["stdout"] + self._printed["stderr"])

    def wait(self, deadline: float) -> dict[str, Any]:
        """Return how it ended."""
        if self._popen is not None:
            try:
                code = self._popen.wait(_pause(deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise _TooLong from None
            return {"exit": code} if code >= 0 else {"signal": -code}
        data = b""
        while True:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._ends["status"]], [], [], _pause(left))
            if not ready:
                raise _TooLong
            part = os.read(self._ends["status"], 4096)
            if not part:
                break
            data += part
        lines = data.splitlines()
        return dict(json.loads(lines[-1])) if lines else {"signal": int(signal.SIGKILL)}

    def end(self) -> None:
        """Kill it and everything it has started, and close our ends."""
        if self._popen is not None:
            try:
                os.killpg(self._popen.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            self._popen.wait()
        for name in list(self._ends):
            self._close(name)  # of "status" the broker hears, and kills

    def _move(self, waiting: bytearray, deadline: float) -> bytearray:
        """Write and read what can be written and read at once, or wait for that."""
        readers = [self._ends[name] for name in ("reply", "stdout", "stderr") if name in self._ends]
        writers = [self._ends["stdin"]] if waiting and "stdin" in self._ends else []
        left = deadline - time.monotonic()
        ready, writable, _ = select.select(readers, writers, [], _pause(left))
        if left <= 0 and not ready:
            raise _TooLong
        if writable:
            try:
                del waiting[: os.write(self._ends["stdin"], waiting)]
            except BrokenPipeError:
                waiting.clear()
        for name in ("reply", "stdout", "stderr"):
            if self._ends.get(name) in ready:
                self._take(name)
        return waiting

    def _take(self, name: str) -> None:
        data = os.read(self._ends[name], 1 << 16)
        if not data:
            self._close(name)
        elif name == "reply":
            self._replies += data
        else:
            kept = self._printed[name]
            kept += data
            if len(kept) > self._keep:
                del kept[: len(kept) - self._keep]

    def _whole_reply(self) -> bytes | None:
        if len(self._replies) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._replies)
        end = _LENGTH.size + length
        if length > _REPLY_BYTES or len(self._replies) < end:
            return None
        reply = bytes(self._replies[_LENGTH.size : end])
        del self._replies[:end]
        return reply

    def _close(self, name: str) -> None:
        descriptor = self._ends.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)


def _start(
    argv: list[str],
    memory: int | None,
    hide: Iterable[str],
    env: Mapping[str, str] | None,
    reply: bool,
    folder: str | None = None,
) -> _Process:
    surroundings = {
        name: text
        for name, text in os.environ.items()
        if name in _HANDED_ON or name.startswith(_HANDED_ON_STARTS)
    }
    surroundings.update(env or {})
    names = ["stdin", "stdout", "stderr", *(["reply"] if reply else [])]
    pipes = {name: os.pipe() for name in names}
    theirs = [pipes[name][0 if name == "stdin" else 1] for name in names]
    ours = {name: pipes[name][1 if name == "stdin" else 0] for name in names}
    folder = os.path.abspath(folder or ".")
    try:
        if _broker() is not None:
            request = {
                "argv": argv,
                "cwd": folder,
                "env": surroundings,
                "memory": memory,
                "hide": [os.path.abspath(path) for path in hide],
            }
            ours["status"] = _ask_broker(request, theirs)
            return _Process(ours, None)
        return _Process(ours, _popen(argv, folder, surroundings, memory, theirs))
    except BaseException:
        for descriptor in ours.values():
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)


def _broker() -> socket.socket | None:
    """Return the way to the evaluation server, which alone can put up a second wall."""
    global _way
    if _way is None and os.environ.get(_BROKER, "").isdigit():
        try:
            _way = socket.socket(fileno=int(os.environ[_BROKER]))
            os.set_inheritable(_way.fileno(), False)
        except OSError:
            raise Failed(
                "the way to the second wall is closed: call `evaluators.isolated` in the evaluator's own "
                "process, or hand descriptor EVOLVE_ISOLATED on to the one that calls it"
            ) from None
    return _way


_way: socket.socket | None = None


def _ask_broker(request: Mapping[str, Any], theirs: list[int]) -> int:
    status, end = os.pipe()
    way = _broker()
    assert way is not None  # asked before
    try:
        descriptors = struct.pack(f"{len(theirs) + 1}i", end, *theirs)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        way.sendmsg([json.dumps(request).encode()], rights)
    except OSError as error:
        os.close(status)
        raise Failed(f"the second wall cannot be put up: {error}") from None
    finally:
        os.close(end)
    return status


def _popen(
    argv: list[str], folder: str, env: Mapping[str, str], memory: int | None, theirs: list[int]
) -> subprocess.Popen[bytes]:
    def limit() -> None:
        import resource

        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if len(theirs) > 3:
            os.dup2(theirs[3], 3)

    try:
        return subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(env),
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            pass_fds=(3,) if len(theirs) > 3 else (),
            start_new_session=True,
            preexec_fn=limit,
        )
    except OSError as error:
        raise Failed(f"{argv[0]}: cannot be started: {error.strerror}") from None


def _pause(left: float) -> float | None:
    return None if left == math.inf else max(0.0, left)


def _text(data: bytes) -> str:
    return data[-_OUTPUT_BYTES:].decode("utf-8", "replace")


def _how_it_ended(status: Mapping[str, Any]) -> str:
    if status.get("killed_for"):
        return f"{status['killed_for']} limit exceeded: killed"
    if status.get("signal"):
        return f"killed by signal {status['signal']} before it returned"
    return f"it ended with exit {status.get('exit')} before it returned"


def _serve(function: str) -> None:
    """Answer calls in the isolated process; one that says `times` wants the work done and no value."""
    requests, replies = os.dup(0), 3
    os.set_inheritable(requests, False)
    os.set_inheritable(replies, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    file, _, name = function.rpartition(":")
    found = None
    while True:
        head = _read_exactly(requests, _LENGTH.size)
        if head is None:
            return
        request = json.loads(_read_exactly(requests, _LENGTH.unpack(head)[0]) or b"{}")
        try:
            if found is None:
                found = getattr(_load(file), name)
            reply = json.dumps(_answer(found, request["args"], request["times"]), default=_plain)
        except BaseException as error:
            import traceback

            traceback.print_exc()
            line = traceback.format_exception_only(type(error), error)[-1].strip()
            reply = json.dumps({"raised": line[:2000]})
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        data = reply.encode("utf-8", "replace")
        view = memoryview(_LENGTH.pack(len(data)) + data)
        while view:
            view = view[os.write(replies, view) :]


def _answer(function: Callable[..., Any], args: list[Any], times: int) -> dict[str, Any]:
    if times == 0:
        return {"returned": function(*args)}
    ran, waited = _schedule()
    for _ in range(times):
        function(*args)
    after = _schedule()
    return {"returned": None, "ran": after[0] - ran, "waited": after[1] - waited}


def _schedule() -> tuple[float, float]:
    """Return seconds this process has run, and has waited for a processor while it could have run."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            ran, waited = file.read().split()[:2]
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def _load(file: str) -> Any:
    import importlib.util

    path = os.path.abspath(file)
    sys.path[0] = os.path.dirname(path)
    sys.argv = [path]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"{file} is not there")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and arrays, and sets, into what JSON knows."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    for name in ("item", "tolist"):
        method = getattr(value, name, None)
        if method is not None and (name == "tolist" or getattr(value, "shape", None) == ()):
            return method()
    raise TypeError(f"a {type(value).__name__} cannot be handed back as data")


def _read_exactly(descriptor: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            return None
        data += part
    return data


if __name__ == "__main__":
    _serve(sys.argv[1])
