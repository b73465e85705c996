"""One evaluation: fork, drain, watch, reap, sweep, and tell what was left behind."""

from __future__ import annotations

import json
import os
import select
import socket
import time
import traceback
from typing import Any, Callable, Iterable, Mapping

from . import folders, function, integrity, launch, tree, voucher, warden
from .result import RESULT_BYTES, read_result
from .streams import Stream, Whole

REQUEST = "request.json"
RESULT = "result.json"
_CHUNK = 1 << 18
_FIRST_LOOK = 0.02
_MOST_READS = 64
_UNLIMITED_SHARE = 0.8
"""Part of the machine's memory that an evaluation without a limit may use."""


class Evaluation:
    """One forked child and all it starts."""

    def __init__(
        self,
        config: Mapping[str, Any],
        request: Mapping[str, Any],
        family: tree.Tree,
        scratch: int,
        walled: bool,
    ) -> None:
        self._config = config
        self._request = request
        self._family = family
        self._scratch = scratch
        self._walled = walled
        self._readers: dict[int, Any] = {}
        self._stdout = Stream(config["output_cap"])
        self._stderr = Stream(config["output_cap"])
        self._answer = Whole(2 * RESULT_BYTES)
        self._voucher = voucher.voucher_for(config)
        self._at_end: dict[str, Any] = {}
        self._way, self._asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._way.setblocking(False)
        self._isolated = 0
        self._early: list[integrity.Finding] = []
        self._word = os.urandom(16).hex()
        self._status: int | None = None
        self._pid = -1
        self._ending: dict[str, Any] = {}
        self._next_look = 0.0

    def start(self, baseline: frozenset[str], before: integrity.Snapshot) -> None:
        """Fork the child.

        Args:
            baseline: Modules that are imported in any case.
            before: The functions that results are made of.
        """
        self._write_request()
        self._family.restart()
        self._started = time.monotonic()
        out, err, pipe = os.pipe(), os.pipe(), os.pipe()
        if self._config["kind"] == "command":
            self._early = integrity.before_start(self._start_folders())
        self._pid = os.fork()
        if self._pid == 0:
            self._child((out[1], err[1]), pipe[1], baseline, before)
        for descriptor in (out[1], err[1], pipe[1]):
            os.close(descriptor)
        self._asking.close()
        sinks: list[tuple[int, tuple[Any, ...]]] = [
            (out[0], (self._stdout,)),
            (err[0], (self._stderr,)),
            (pipe[0], (self._answer,)),
        ]
        if self._voucher is not None:
            self._voucher.started()
            sinks[0] = (out[0], (self._stdout, self._voucher.others))
            sinks.append((self._voucher.output, (self._stdout, self._voucher.own)))
        for reader, streams in sinks:
            os.set_blocking(reader, False)
            self._readers[reader] = streams

    def watch(self, wakeup: int, control: int, told: Callable[[], bool], timeout: float) -> None:
        """Wait for the end of the child, its limits, or word from the runner that it shall stop."""
        deadline = self._started + timeout
        self._next_look = self._started + _FIRST_LOOK
        poll = select.poll()
        channel = -1 if self._voucher is None else self._voucher.channel
        way = self._way.fileno()
        for descriptor in (wakeup, control, channel, way, *self._readers):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        while self._status is None and not self._ending:
            now = time.monotonic()
            if now >= deadline:
                self._ending["timed_out"] = True
                break
            if now >= self._next_look:
                self._look_at_usage(now)
            pause = max(0.0, min(deadline, self._next_look) - now)
            for descriptor, _ in poll.poll(pause * 1000 + 1):
                if descriptor == wakeup:
                    _drain(wakeup)
                    self._status = self._family.reap(self._pid)[1]
                elif descriptor == control:
                    if told():
                        self._ending["cancelled"] = True
                elif descriptor == way:
                    if not self._wall_off():
                        poll.unregister(descriptor)
                elif descriptor == channel:
                    if not self._hear_voucher():
                        poll.unregister(descriptor)
                elif not self._read(descriptor):
                    poll.unregister(descriptor)

    def finish(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Kill what is left and return the report."""
        seconds = time.monotonic() - self._started
        self._family.sweep()
        self._hear_voucher()
        for reader in list(self._readers):
            while self._read(reader):
                pass
        header: dict[str, Any] = {
            "exit": None,
            "signal": None,
            "seconds": seconds,
            "cpu_seconds": self._family.cpu_seconds,
            "isolated": self._isolated,
            **self._ending,
        }
        if self._status is not None:
            code = _exit_code(self._status)
            header["exit" if code >= 0 else "signal"] = abs(code)
        blobs = {"stdout": self._stdout.text(), "stderr": self._stderr.text()}
        if self._config["kind"] == "function":
            self._take_answer(header, blobs)
        else:
            self._take_result(header, blobs)
        return header, blobs

    def abandon(self) -> None:
        """Close what `finish` would have closed."""
        for reader in list(self._readers):
            os.close(reader)
        self._readers.clear()
        self._way.close()
        self._asking.close()
        if self._voucher is not None:
            self._voucher.close()

    def _wall_off(self) -> bool:
        """Start what the evaluator wants behind a second wall; return whether more may be asked."""
        try:
            asked = warden.receive(self._way)
        except EOFError:
            return False
        if asked is not None and self._walled:
            self._isolated += 1
            warden.start(self._config, *asked)
        return True

    def _start_folders(self) -> list[str]:
        own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        inside = self._config["checkout"] + os.sep
        folders = [*self._config["follow"].values(), *own]
        return [path for path in folders if (path + os.sep).startswith(inside)]

    def _hear_voucher(self) -> bool:
        """Keep what there is when a script says that it has ended; return whether more may come."""
        if self._voucher is None:
            return False
        try:
            complete = self._voucher.hear()
        except EOFError:
            return False
        if complete:
            for reader in list(self._readers):
                for _ in range(_MOST_READS):
                    if reader in self._readers and not self._read(reader, settled=True):
                        break
            data, problem = read_result(self._scratch, RESULT)
            self._at_end = {
                "own_line": self._voucher.own.last_line(),
                "last_line": self._voucher.others.last_line() or self._stdout.last_line(),
                "result": data,
                "result_problem": problem,
            }
            self._voucher.answer()
        return True

    def _write_request(self) -> None:
        folders.put(self._scratch, REQUEST, json.dumps(self._request).encode())

    def _child(
        self, streams: tuple[int, int], pipe: int, baseline: frozenset[str], before: integrity.Snapshot
    ) -> None:
        code = 70
        try:
            _import_from_checkout(self._config["follow"].values(), self._config["supplied"])
            nothing = os.open(os.devnull, os.O_RDONLY)
            is_function = self._config["kind"] == "function"
            kept = [pipe] if is_function else []
            kept += self._voucher.kept() if self._voucher is not None else ()
            if self._walled:
                kept.append(self._asking.fileno())
                os.environ["EVOLVE_ISOLATED"] = str(self._asking.fileno())
            launch.enter(self._config, (nothing, *streams), kept, self._walled)
            if is_function:
                os.set_inheritable(pipe, False)
                code = function.answer(pipe, self._word, self._config, self._request, baseline, before)
            else:
                self._execute()
        except BaseException:  # nothing may come back into the server's loop
            os.write(2, traceback.format_exc().encode("utf-8", "replace"))
        finally:
            os._exit(code)

    def _execute(self) -> None:
        argv = self._config["argv"] if self._voucher is None else self._voucher.argv
        try:
            os.execvpe(argv[0], argv, os.environ)
        except OSError as error:
            os.write(
                2, f"{argv[0]}: cannot be started: {error.strerror}\n".encode("utf-8", "surrogateescape")
            )
            os._exit(126 if isinstance(error, PermissionError) else 127)

    def _read(self, reader: int, settled: bool = False) -> bool:
        """Take what is there; return whether more may come at once.

        Args:
            reader: A descriptor.
            settled: Whether only what is there already is of interest.
        """
        try:
            data = os.read(reader, _CHUNK)
        except BlockingIOError:
            return bool(self._status is None and not self._ending and not settled)
        if data:
            for stream in self._readers[reader]:
                stream.feed(data)
            return True
        del self._readers[reader]
        os.close(reader)
        return False

    def _look_at_usage(self, now: float) -> None:
        limit = self._config["memory"]
        self._next_look = now + (0.05 if limit or self._walled else 0.25)
        used, count = self._family.usage()
        if count > self._config["processes"]:
            self._ending["killed_for"] = "processes"
        limit = limit or _UNLIMITED_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if used > limit and self._family.shared_fairly() > limit:
            self._ending["killed_for"] = "memory"

    def _take_result(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        header["tampering"] = self._early
        report = None if self._voucher is None else self._voucher.report
        if report is None or report.get("handed_over"):
            data, problem = read_result(self._scratch, RESULT)
            found: dict[str, Any] = {
                "last_line": self._stdout.last_line(),
                "result": data,
                "result_problem": problem,
            }
        else:
            found = self._at_end
        header["result_problem"] = found.pop("result_problem")
        blobs.update({name: data for name, data in found.items() if data is not None})
        if report is not None:
            header["tampering"] = [*self._early, *report.get("tampering", ())]
            header["left_in"] = report.get("left_in")
            header["files"] = report.get("files", ())
            header["wrote_result"] = report.get("wrote_result")
        elif self._voucher is not None and header["exit"] == 0:
            header["fault"] = "tampering: the evaluator's process ended with exit 0 before its own end"

    def _take_answer(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        reply = _parse_answer(self._answer, self._word)
        for name in ("modules", "fault", "left_in", "files", "tampering"):
            header[name] = reply.get(name)
        header["result_problem"] = reply.get("unreadable")
        if isinstance(reply.get("returned"), str):
            blobs["result"] = reply["returned"].encode("utf-8", "replace")
        elif not reply and self._status is not None and header["signal"] is None:
            early = f"the process ended with exit {header['exit']} before the function returned"
            header["fault"] = f"tampering: {early}" if header["exit"] == 0 else early


def _import_from_checkout(folders: Iterable[str], supplied: str) -> None:
    """Let Python find the candidate's packages where the user has editable installations, and ours last."""
    paths = [*folders, *os.environ.get("PYTHONPATH", "").split(os.pathsep), supplied]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)


def _parse_answer(answer: Whole, word: str) -> dict[str, Any]:
    if answer.too_long:
        return {"unreadable": f"the function returned more than {RESULT_BYTES >> 20} MiB"}
    if not answer.data:
        return {}
    try:
        if answer.data.startswith(word.encode()):
            return dict(json.loads(bytes(answer.data[len(word) :])))
    except (ValueError, TypeError, RecursionError):
        pass
    found = {"what": "something else than the evaluator wrote to its result channel", "file": None}
    return {"tampering": [found], "fault": "the evaluator's answer cannot be read"}


def _exit_code(status: int) -> int:
    """Return the exit code, or the signal's number below zero (`os.waitstatus_to_exitcode` came with 3.9)."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass
