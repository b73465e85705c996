"""The other end of `program.py`: hears that a script has come to its own end."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from . import program
from .streams import Stream

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "script.py")
_REPORT_BYTES = 4 * 1024 * 1024


class Voucher:
    """Channel and standard output of one script.

    Attributes:
        channel: Descriptor on which its report comes.
        output: Descriptor from which its own standard output is read.
        own: Its own standard output, of which only the last line is kept.
        others: The same of the processes it has started.
        report: What it has said at its end; None before that.
    """

    def __init__(self, argv: list[str], position: int, checkout: str) -> None:
        self._ours, self._theirs = socket.socketpair()
        self.output, self._output = os.pipe()
        os.set_blocking(self.output, False)
        self._ours.setblocking(False)
        self.channel = self._ours.fileno()
        self.own, self.others = Stream(0), Stream(0)
        self.report: dict[str, Any] | None = None
        self._word = os.urandom(16).hex()
        self._heard = b""
        self._ours.send(self._word.encode())
        numbers = [str(descriptor) for descriptor in self.kept()]
        self.argv = [*argv[:position], LAUNCHER, *numbers, checkout, *argv[position:]]

    def kept(self) -> tuple[int, int]:
        """Return the descriptors that the script needs."""
        return self._theirs.fileno(), self._output

    def started(self) -> None:
        """Close the script's ends here."""
        self._theirs.close()
        os.close(self._output)

    def hear(self) -> bool:
        """Take what has come over the channel; return whether the report is complete and waits for an answer.

        Raises:
            EOFError: Nothing more can come.
        """
        try:
            data = self._ours.recv(1 << 16)
        except (BlockingIOError, ConnectionResetError):
            return False
        self._heard += data
        if not data or len(self._heard) > _REPORT_BYTES:
            raise EOFError
        if not self._heard.endswith(b"\n"):
            return False
        reports = [self._parsed(line) for line in self._heard.splitlines()]
        self.report = reports[-1]
        self.report["tampering"] = [found for one in reports for found in one.get("tampering", ())]
        return not self.report.get("handed_over")

    def answer(self) -> None:
        """Let the script go on to its end."""
        try:
            self._ours.send(b".")
        except OSError:
            pass  # it did not wait

    def close(self) -> None:
        """Close our end of the channel."""
        self._ours.close()

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            report = json.loads(line)
            if report.pop("word") == self._word:
                return dict(report)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            pass
        found = {"what": "something else than the evaluator spoke on its channel", "file": None}
        return {"tampering": [found]}


def voucher_for(config: Any) -> Voucher | None:
    """Return a voucher if the command is a Python script; None for all others."""
    if config["kind"] != "command" or not config["vouch"]:
        return None
    position = program.script_position(config["argv"])
    return None if position is None else Voucher(config["argv"], position, config["checkout"])
