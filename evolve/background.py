"""A campaign in the background: started, reported, waited for.

The orchestrator in the background is a new program in a session of its own, not a fork of the command: no
terminal can hang up on it, no thread or open database of the command comes along, and a program that uses
this as a library may start one too. It is handed the campaign and the configuration that the command has
checked, on standard input, so that both mean the same whatever happens to evolve.toml in between.

"Started" must not mean "a process was started". The child says through a pipe how far it has come: it owns
the campaign, all that is configured fits, the base has been judged, or it has ended and why. The command
returns when the child owns the campaign and the configuration is in order; it stays a few seconds more for
the first verdict on the base, because an evaluator that cannot run is the most common mistake. A child that
dies closes the pipe, so nobody waits for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archives.errors import EvolveError
from archives.records import Evaluation
from archives.repository import Repository
from evolve import config as configuration
from evolve.answering.campaigns import state as state_of
from evolve.answers.base import State
from evolve.campaign import Campaign
from evolve.layout import Layout

PROGRAM = Path(__file__).with_name("detached.py")
FIRST_VERDICT = 5.0
"""Seconds that the command stays for the first verdict on the base."""
LARGEST_LOG = 8 * 1024 * 1024
_POLL = 0.2


class NotStarted(EvolveError):
    """The orchestrator in the background ended before it ran the campaign."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Start:
    """How far an orchestrator has come that was started in the background.

    Attributes:
        pid: Its process number.
        judged: Whether the base has been judged.
        ended: How it ended, if it has ended already.
    """

    pid: int
    judged: bool = False
    ended: str | None = None


def start(campaign: Campaign) -> Start:
    """Run a campaign in the background; returns when the orchestrator owns it and finds all in order.

    Raises:
        NotStarted: It did not come that far; the message is its own.
    """
    log = _open_log(campaign.layout.log)
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), str(campaign.home.resolve()), str(theirs)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=campaign.folder,
            start_new_session=True,
            pass_fds=[theirs],
        )
    finally:
        os.close(log)
        os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(json.dumps(_described(campaign)).encode())
        try:
            return _follow(process, pipe.fileno(), campaign.layout.log)
        except KeyboardInterrupt:
            process.terminate()
            raise


def _described(campaign: Campaign) -> dict[str, Any]:
    return {
        "root": str(campaign.repository.root),
        "prefix": campaign.prefix,
        "accept_evaluator": campaign.accept_evaluator,
        "config": campaign.config.model_dump(mode="json"),
    }


def _open_log(path: Path) -> int:
    """The log, open to append; an old one that has grown large is put aside."""
    path.parent.mkdir(exist_ok=True)
    if path.exists() and path.stat().st_size > LARGEST_LOG:
        path.replace(path.with_suffix(".old.log"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _follow(process: subprocess.Popen[bytes], pipe: int, log: Path) -> Start:
    """Read what the child says of itself until it is well under way."""
    started, deadline = Start(process.pid), float("inf")
    rest = b""
    while select.select([pipe], [], [], min(3600.0, max(0.0, deadline - time.monotonic())))[0]:
        data = os.read(pipe, 4096)
        if not data:
            raise NotStarted(_death(process, log), 1)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "error" in said:
                process.wait()
                raise NotStarted(said["error"], said["code"])
            if "ended" in said:
                return Start(process.pid, True, said["ended"])
            if "judged" in said:
                return Start(process.pid, True)
            if "configured" in said:
                deadline = time.monotonic() + FIRST_VERDICT
    return started


def _death(process: subprocess.Popen[bytes], log: Path) -> str:
    code = process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    words = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((one.strip() for one in reversed(words) if one.strip()), "")
    return f"the orchestrator ended {how} before it ran the campaign: {last[:200]} (see {log})"


class Reporter:
    """The child's side of the pipe."""

    def __init__(self, pipe: int) -> None:
        os.set_inheritable(pipe, False)
        self._pipe: int | None = pipe

    def end(self, **facts: Any) -> None:
        """Tell the command the last thing it wants to know."""
        self._write(facts)
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _write(self, facts: dict[str, Any]) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # the command has gone
                os.write(self._pipe, json.dumps(facts).encode() + b"\n")

    def hear(self, kind: str, what: Any) -> None:
        """Take in one thing that happened in the run."""
        if kind in ("owned", "configured"):
            self._write({kind: os.getpid()})
        elif isinstance(what, Evaluation) and what.verdict == "judged":
            self.end(judged=what.id)


def serve() -> int:
    """Be the orchestrator in the background; returns the exit code of `evolve run`."""
    # A handler and not SIG_IGN, which every evaluation would inherit.
    signal.signal(signal.SIGHUP, lambda *_: None)
    home, pipe = Path(sys.argv[1]), int(sys.argv[2])
    reporter = Reporter(pipe)
    order = json.loads(sys.stdin.read())
    _close_input()
    print(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} process {os.getpid()}", file=sys.stderr, flush=True)
    try:
        return _conduct(home, order, reporter)
    except EvolveError as error:
        return _leave(reporter, " ".join(str(error).split()), error.exit_code)
    except OSError as error:
        return _leave(reporter, f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    except KeyboardInterrupt:
        return _leave(reporter, "interrupted", 130)


def _leave(reporter: Reporter, reason: str, code: int) -> int:
    print(f"evolve: {reason}", file=sys.stderr, flush=True)
    reporter.end(error=reason, code=code)
    return code


def _close_input() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _conduct(home: Path, order: dict[str, Any], reporter: Reporter) -> int:
    from evolve import answering
    from evolve.views.progress import Progress

    config = configuration.parse(order["config"], "the command's configuration")
    repository, accept = Repository.find(Path(order["root"])), order["accept_evaluator"]
    campaign = Campaign(repository, Layout(home), config, order["prefix"], accept_evaluator=accept)
    with campaign.reader() as reader:
        progress = Progress(answering.status(reader, home, None))

    def listener(kind: str, what: Any) -> None:
        progress(kind, what)
        reporter.hear(kind, what)

    ending = campaign.run_sync(listener)
    if ending.failed:
        return _leave(reporter, ending.reason, 1)
    print(f"{ending.state}: {ending.reason}", file=sys.stderr, flush=True)
    reporter.end(ended=f"{ending.state}: {ending.reason}")
    return 0


@dataclass(frozen=True, slots=True)
class Rest:
    """Where a campaign stands that was waited for.

    Attributes:
        state: Its state.
        reason: Why it is in that state.
        failed: Whether it ended because something is wrong, or died.
        over: Whether no orchestrator lives.
    """

    state: State
    reason: str
    failed: bool
    over: bool


def wait(campaign: Campaign, timeout: float | None = None) -> Rest:
    """Wait until nobody runs a campaign any more.

    Args:
        campaign: The campaign.
        timeout: Seconds after which to give up; None: never.

    Raises:
        EvolveError: The campaign was removed meanwhile.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while campaign.owner() is not None:
        left = _POLL if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return _standing(campaign)
        time.sleep(min(_POLL, left))
    return _standing(campaign)


def _standing(campaign: Campaign) -> Rest:
    # Who lives is asked before what the journal says: an orchestrator writes its end first, then it lets go.
    pid = campaign.owner()
    with campaign.reader() as reader, reader.snapshot():
        state = state_of(reader, pid)
        failed = state == "dead" or (pid is None and bool(reader.setting("failed")))
        reason = "its orchestrator died" if state == "dead" else reader.setting("reason") or ""
    return Rest(state, reason, failed, pid is None)
