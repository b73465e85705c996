"""Pacing: widths that nobody has fixed are set anew from what a run measures (the rules: `evolve.widths`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import trio

from archives.records import Evaluation
from evolve.pipeline import Pipeline
from evolve.run import Run
from evolve.widths import Answer, Downstream, EvaluatorWidth, Load, ModelWidth

UNMEASURED = 8
"""Proposals at a time by operators that wait for something else than our own requests to models."""
OFFLINE = 2
"""Proposals at a time where none waits: one is made while another is judged."""
LOOK_EVERY = 1.0
SCARCE = 0.1
"""Share of the memory below which what is left is scarce."""


def processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0))


class Pace:
    """Sets the widths of a pipeline, at first and whenever something was measured that changes them.

    Args:
        run: The campaign.
    """

    def __init__(self, run: Run) -> None:
        table, traffic = run.config.workers, run.traffic
        waits = any(operator.is_async for operator in run.operators.values())
        self._model = ModelWidth() if table.propose == "auto" and waits and traffic is not None else None
        here = run.config.evaluator.executor == "local"
        free = table.evaluate == "auto" and run.config.evaluator.cpus is None and here
        self._evaluator = EvaluatorWidth(processors()) if free else None
        usual = UNMEASURED if waits else OFFLINE
        self._proposers = usual if table.propose == "auto" else table.propose
        self._evaluators = run.bench.slots.width if table.evaluate == "auto" else table.evaluate
        self._run = run
        self._ended: list[Evaluation] = []
        self.pipeline = Pipeline(run, *self._widths())
        if self._model is not None and traffic is not None:
            self._traffic = traffic
            traffic.limit(self._model.width)
            traffic.heard = self._heard

    def _widths(self) -> tuple[int, int]:
        proposers = self._proposers if self._model is None else self._model.width
        return proposers, self._evaluators if self._evaluator is None else self._evaluator.width

    def _set(self) -> None:
        proposers, evaluators = self._widths()
        line = self.pipeline
        if (line.propose.width, line.evaluate.width) != (proposers, evaluators):
            line.widen(proposers, evaluators)
        line.propose.bound = "" if self._model is None else self._model.because
        line.evaluate.bound = "" if self._evaluator is None else self._evaluator.because

    def _heard(self, answer: Answer) -> None:
        assert self._model is not None  # or nobody would have been told of it
        line = self.pipeline
        overtaken = sum(line.overtaken) / len(line.overtaken) if len(line.overtaken) >= 8 else 0.0
        self._model.hear(answer, Downstream(line.evaluate.waiting, line.evaluate.width, overtaken))
        self._traffic.limit(self._model.width)
        self._set()

    async def watch(self) -> None:
        """Look at the evaluations once a second, as long as the run lasts."""
        if self._evaluator is None:
            return
        self._run.measured = self._ended.append
        busy = machine_busy()
        while True:
            await trio.sleep(LOOK_EVERY)
            ended, self._ended[:] = list(self._ended), []
            self._evaluator.look(
                Load(
                    count=len(ended),
                    seconds=sum(one.seconds for one in ended),
                    processor_seconds=sum(one.cpu_seconds for one in ended),
                    refused=sum(one.attempts > 1 for one in ended),
                    waiting=self.pipeline.evaluate.waiting,
                    machine=busy(),
                    scarce=memory_left() < SCARCE,
                )
            )
            self._set()


def machine_busy() -> Callable[[], float]:
    """A function that says which share of the machine's processors was busy since it was last asked."""
    idle, total = _ticks()

    def busy() -> float:
        nonlocal idle, total
        (idle_now, total_now), before = _ticks(), (idle, total)
        idle, total = idle_now, total_now
        return 1.0 - (idle - before[0]) / max(1, total - before[1])

    return busy


def _ticks() -> tuple[int, int]:
    """Processor time so far: idle, and all."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    numbers = [int(word) for word in words]
    return numbers[3] + numbers[4], sum(numbers)


def memory_left() -> float:
    """Share of the machine's memory that is available."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Mem")}
    return sizes["MemAvailable"] / sizes["MemTotal"]
