"""How wide the stages are where nobody has fixed it: observations in, a width out.

Widths grow while that gains something, step by step, and are cut by a factor when it costs (additive
increase, multiplicative decrease: Chiu and Jain, 1989, show that this finds a fair share of what several
compete for). Model calls begin with a doubling per round, as TCP does (Jacobson, 1988), until the first
sign of a limit. What limits them, the strictest first:

- *The server.* Told to slow down, or timed out, the width is cut at once, at most once for requests
  that were under way together. Answers that take longer the more are under way mean a queue in front of the
  server: the width then is its capacity (see `evolve.knee`) and a little more, so that it is never idle.
- *Evaluations.* Proposals that pile up in front of the evaluator only grow old.
- *Staleness.* When most proposals are overtaken before they leave the model, more of them at once find less.

Evaluations begin with one a processor and grow only if they mostly wait for something else: their measured
share of a processor says how many more fit. Nothing here knows of clocks, tasks or the journal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from evolve.knee import EVIDENCE, Knee

Kind = Literal["answered", "rate", "timeout"]

FIRST = 4
MOST = 256
"""Model calls at a time, at the very most."""
ROUND = 0.75
"""Answers that make a round, as a share of the width."""
CUT = 0.7
"""What is left of the width when the server refuses."""
EASE = 0.75
"""What is left of a width when something behind it is the bottleneck."""
SLACK = 1.5
"""Requests under way for each that a server works on: the capacity found may be too small by a third."""
SUSPICION = 2.0
"""Evidence of a queue (see `Knee.look`) from which on the width is not doubled any more for now."""
OVERTAKEN = 0.5
"""Share of proposals overtaken while they were made, above which the width does not grow."""
FAR_OVERTAKEN = 0.8
"""Likewise, above which it shrinks."""

PER_PROCESSOR = 4
"""Evaluations at a time, at the very most, for each processor."""
FULL = 0.75
"""Share of the processors that evaluations may take before there are no more of them."""
HINDERED = 1.5
"""How much longer than at first evaluations may take before there are fewer of them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request to a model.

    Attributes:
        began: When it was sent, in seconds of any clock.
        under_way: Requests under way then, itself included.
        seconds: How long it took.
        kind: Whether it was answered, or how it was refused.
    """

    began: float
    under_way: int
    seconds: float
    kind: Kind = "answered"

    @property
    def ended(self) -> float:
        """When it came."""
        return self.began + self.seconds


@dataclass(frozen=True, slots=True)
class Downstream:
    """What happens to proposals after the model.

    Attributes:
        waiting: Those that wait for the evaluator.
        evaluators: Evaluations at a time.
        overtaken: Share of the last ones whose parent was overtaken while they were made.
    """

    waiting: int = 0
    evaluators: int = 1
    overtaken: float = 0.0


class ModelWidth:
    """How many requests to models may be under way.

    Attributes:
        width: So many.
        because: What it is bound by, in a few words.
    """

    def __init__(self, first: int = FIRST, most: int = MOST) -> None:
        self.width = first
        self.because = "growing"
        self._most = most
        self._doubling = True
        self._knee = Knee()
        self._changed = -math.inf
        self._cut = -math.inf
        self._capacity: int | None = None
        self._evidence = 0.0
        self._answers = self._fullest = self._unlooked = 0

    def hear(self, answer: Answer, after: Downstream) -> None:
        """Take in what became of a request; `width` holds afterwards."""
        if answer.kind != "answered":
            self._refused(answer)
            return
        self._knee.hear(answer.under_way, answer.seconds)
        self._unlooked += 1
        if self._unlooked >= max(4, self.width // 8):
            self._look(answer.ended)
        if answer.began < self._changed:
            return
        self._answers += 1
        self._fullest = max(self._fullest, answer.under_way)
        if self._answers >= max(2, math.ceil(ROUND * self.width)):
            self._decide(after, answer.ended)

    def _refused(self, answer: Answer) -> None:
        if answer.began < self._cut:
            return
        words = "the server asks to slow down" if answer.kind == "rate" else "requests time out"
        self._cut = answer.ended
        self._set(int(min(self.width, answer.under_way) * CUT), words, answer.ended)

    def _look(self, now: float) -> None:
        """Cut a width that makes a queue in front of the server, without waiting for the end of a round."""
        self._unlooked = 0
        capacity, self._evidence = self._knee.look()
        self._capacity = capacity if self._evidence >= EVIDENCE else None
        if self._capacity is not None and self.width > self._enough:
            self._set(self._enough, self._served, now)

    @property
    def _enough(self) -> int:
        return self._most if self._capacity is None else math.ceil(SLACK * self._capacity) + 1

    @property
    def _served(self) -> str:
        return f"the server works on about {self._capacity} at a time"

    def _decide(self, after: Downstream, now: float) -> None:
        """At the end of a round: one step, up or down, or none."""
        full = self._fullest >= self.width
        self._answers = self._fullest = 0
        self._look(now)
        if after.waiting > 2 * after.evaluators:
            self._set(int(self.width * EASE), "proposals wait for the evaluator", now)
        elif after.overtaken > FAR_OVERTAKEN:
            self._set(int(self.width * EASE), "proposals are overtaken while they are made", now)
        elif after.waiting > after.evaluators:
            self._hold("proposals wait for the evaluator")
        elif after.overtaken > OVERTAKEN:
            self._hold("proposals are overtaken while they are made")
        elif self.width >= self._enough:
            self._hold("there are never more" if self._capacity is None else self._served)
        elif full and self._evidence < SUSPICION:
            self._set(min(2 * self.width if self._doubling else self.width + 1, self._enough), "growing", now)
        elif full:
            self._set(self.width + 1, "growing", now)

    def _hold(self, words: str) -> None:
        self._doubling = False
        self.because = words

    def _set(self, width: int, words: str, now: float) -> None:
        width = max(1, width)
        if width < self.width or (self._doubling and words != "growing"):
            self._doubling = False
        if width != self.width:
            self._changed = now
            self._answers = self._fullest = 0
        self.width, self.because = width, words


@dataclass(frozen=True, slots=True)
class Load:
    """What evaluations cost since the last look.

    Attributes:
        count: Evaluations that ended.
        seconds: How long they took together.
        processor_seconds: Processor time they took together.
        refused: Those of them that could not judge.
        waiting: Candidates that wait for the evaluator.
        machine: Share of all processors that was busy, with whatever, from 0 to 1.
        scarce: Whether there is hardly any memory left.
    """

    count: int
    seconds: float
    processor_seconds: float
    refused: int = 0
    waiting: int = 0
    machine: float = 0.0
    scarce: bool = False


class EvaluatorWidth:
    """How many evaluations may run side by side.

    Args:
        processors: Processors there are.

    Attributes:
        width: So many evaluations.
        because: What it is bound by, in a few words.
    """

    def __init__(self, processors: int) -> None:
        self.width = processors
        self.because = "one a processor"
        self._processors = processors
        self._loads: list[Load] = []
        self._at_first: float | None = None

    def look(self, load: Load) -> None:
        """Take in what was measured since the last look; `width` holds afterwards."""
        if load.scarce or load.refused:
            words = "memory is scarce" if load.scarce else "the evaluator could not judge"
            self._set(int(self.width * EASE), words)
            return
        self._loads.append(load)
        count = sum(one.count for one in self._loads)
        if count < self.width:
            return
        seconds = sum(one.seconds for one in self._loads) / count
        share = sum(one.processor_seconds for one in self._loads) / max(seconds * count, 1e-9)
        machine = sum(one.machine for one in self._loads) / len(self._loads)
        waiting = min(one.waiting for one in self._loads)
        self._loads.clear()
        self._step(seconds, share, machine, waiting)

    def _step(self, seconds: float, share: float, machine: float, waiting: int) -> None:
        if self._at_first is None and self.width >= self._processors:
            self._at_first = seconds
        wider = self.width > self._processors
        if wider and self._at_first is not None and seconds > HINDERED * self._at_first:
            self._set(max(self._processors, int(self.width * EASE)), "evaluations hinder each other")
        elif self.width < self._processors:
            self._set(self.width + 1, "growing again")
        elif waiting and self.width < PER_PROCESSOR * self._processors:
            idle = machine < FULL and (self.width + 1) * share <= FULL * self._processors
            self._set(self.width + idle, "they mostly wait" if idle or wider else "one a processor")

    def _set(self, width: int, words: str) -> None:
        if width != self.width:
            self._loads.clear()
        self.width, self.because = max(1, width), words
