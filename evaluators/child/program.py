"""A command that is a Python script: run as itself, in a process that tells its end from an early exit.

Exit code 0 and a last line say nothing about who wrote them: a candidate that the script imports can print
a line and leave. So the script runs inside this frame, which reports over a channel of its own that the
script came to its end, and waits until everything before it has been read. Its standard output is a pipe
that processes it starts do not inherit; theirs is another, so that none of them has the last word.
"""

from __future__ import annotations

import io
import json
import os
import socket
import sys
import types
from typing import Any

from . import integrity

_WAIT_SECONDS = 10.0
_OPTIONS_WITH_VALUE = ("-W", "-X")


def script_position(argv: list[str]) -> int | None:
    """Return where in a Python command line the script stands; None if there is none."""
    position = 1
    while position < len(argv) and argv[position].startswith("-"):
        if argv[position] in ("-", "--") or argv[position].lstrip("-")[:1] in ("c", "m", "i", "h", "V", "?"):
            return None
        position += 2 if argv[position] in _OPTIONS_WITH_VALUE else 1
    return position if position < len(argv) and argv[position].endswith(".py") else None


def run(main: types.ModuleType) -> None:
    """Run the script named on the command line in the module `main`."""
    channel, output, checkout, script = sys.argv[1:5]
    report = _Report(int(channel), checkout)
    _own_output(int(output))
    sys.argv[:] = sys.argv[4:]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    script = os.path.abspath(script)
    main.__dict__.clear()
    main.__dict__.update(
        __name__="__main__", __file__=script, __builtins__=sys.modules["builtins"], __doc__=None
    )
    main.__dict__.update(__spec__=None, __loader__=None, __package__=None, __cached__=None)
    report.watch.begin()
    report.hear_exec()
    left: BaseException | None = None
    code: types.CodeType | None = None
    try:
        code = _code_of(script)
        exec(code, main.__dict__)
    except SystemExit as error:
        left = error
    except BaseException as error:
        sys.excepthook(
            type(error), error.with_traceback(_without_us(error.__traceback__)), error.__traceback__
        )
        left = SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1)
    report.end(code, main.__dict__, left)
    if left is not None:
        raise left


def _without_us(trace: types.TracebackType | None) -> types.TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _code_of(script: str) -> types.CodeType:
    try:
        with open(script, "rb") as file:
            return compile(file.read(), script, "exec", dont_inherit=True)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {script!r}: {error}\n")
        raise SystemExit(2) from None


def _own_output(descriptor: int) -> None:
    os.set_inheritable(descriptor, False)
    old = sys.stdout
    raw = io.BufferedWriter(io.FileIO(descriptor, "w"))
    sys.stdout = io.TextIOWrapper(
        raw, encoding=old.encoding, errors=old.errors, write_through=getattr(old, "write_through", False)
    )
    setattr(sys, "__stdout__", sys.stdout)  # noqa: B010  (final for type checkers only)


class _Report:
    """What is told over the channel: once, by this process only, with the word it was given at the start."""

    def __init__(self, descriptor: int, checkout: str) -> None:
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        self._socket.settimeout(_WAIT_SECONDS)
        self._word = self._socket.recv(64).decode()
        self._own = os.getpid()
        self.watch = integrity.Watch(checkout, os.environ.get("EVOLVE_RESULT"))

    def hear_exec(self) -> None:
        """Tell of it when another program takes over this process: it cannot be vouched for any more."""

        def hear(event: str, _: object) -> None:
            if event == "os.exec" and os.getpid() == self._own:
                self._tell({"handed_over": True, "left_in": self.watch.where(sys._getframe(1))})

        sys.addaudithook(hear)

    def end(self, code: types.CodeType | None, namespace: dict[str, Any], left: BaseException | None) -> None:
        """Say that the script has ended, and wait until that was heard."""
        if os.getpid() != self._own:
            return  # a fork that came back here
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass  # closed or replaced by the script; the end is told all the same
        findings = self.watch.findings(code, namespace)
        self._tell(
            {
                "left_in": None if left is None else self.watch.raised(left),
                "tampering": findings,
                "files": self.watch.files(),
                "wrote_result": self.watch.wrote_result,
            }
        )

    def _tell(self, report: dict[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps({"word": self._word, **report}).encode() + b"\n")
            if "handed_over" not in report:
                self._socket.recv(1)
        except OSError:
            pass  # nobody is there any more to hear it
