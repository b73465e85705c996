"""What a run shows while it goes on: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from typing import Any

import click

from archives.records import Decision, Evaluation, Proposal
from evolve.answers import Status
from evolve.views.words import clean, number

PLAIN_EVERY = 10.0
LIVE_EVERY = 0.1
UNSAID = ("owned", "configured")


class Progress:
    """Listens to a run and writes to standard error, so that standard output stays clean.

    Args:
        status: Where the campaign stood before.
    """

    def __init__(self, status: Status) -> None:
        self._limits = {name: limit.limit for name, limit in status.budget.items()}
        self._silent = False
        self._live = sys.stderr.isatty()
        self._started = self._shown = time.monotonic()
        self._evaluations, self._proposals = status.evaluations, status.proposals
        self._failed = 0
        self._best = status.best_score
        self._looks: list[float] = []
        self._line = False

    def __call__(self, kind: str, what: Any) -> None:
        """Take in one thing that happened."""
        if isinstance(what, Evaluation):
            self._evaluations += what.counted
            self._failed += what.verdict != "judged"
            if what.whole and what.purpose == "baseline" and what.score is not None:
                self._looks.append(what.score)
                self._best = statistics.fmean(self._looks)
        elif isinstance(what, Proposal):
            self._proposals += 1
        elif isinstance(what, Decision):
            self._decision(what)
        elif kind == "limits":
            self._limits = dict(what)
        elif kind not in UNSAID:
            self._say(f"{kind}: {what}")
        self._refresh()

    def _decision(self, decision: Decision) -> None:
        score = decision.evidence.get("score")
        if decision.promoted:
            before = number(self._best)
            self._best = score if isinstance(score, float) else self._best
            self._say(
                f"champion {number(self._best)} (was {before})  proposal {decision.proposal}  "
                f"{decision.challenger[:10]}  {decision.reason}"
            )
        else:
            self._say(f"not promoted: proposal {decision.proposal}: {decision.reason}")

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._shown < (LIVE_EVERY if self._live else PLAIN_EVERY):
            return
        self._shown = now
        if self._live:
            width = shutil.get_terminal_size().columns
            self._write("\r\033[K" + self._status()[: width - 1])
            self._line = True
        else:
            self._write(self._status() + "\n")

    def _status(self) -> str:
        return (
            f"{time.monotonic() - self._started:4.0f} s  best {number(self._best)}  "
            f"proposals {self._share('proposals', self._proposals)}  "
            f"evaluations {self._share('evaluations', self._evaluations)}  failed {self._failed}"
        )

    def _share(self, name: str, value: int) -> str:
        return f"{value}/{self._limits[name]:g}" if name in self._limits else str(value)

    def _say(self, text: str) -> None:
        self.close()
        self._write(f"{time.monotonic() - self._started:4.0f} s  {clean(text)}\n")

    def close(self) -> None:
        """Leave the cursor on a clean line."""
        if self._line:
            self._write("\r\033[K")
            self._line = False

    def _write(self, text: str) -> None:
        """Write; a terminal that is gone silences what follows and stops nothing."""
        if self._silent:
            return
        try:
            click.echo(text, nl=False, err=True)
        except OSError:
            self._silent = True
