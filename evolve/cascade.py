"""The stages of an evaluator: cheap ones in front, and the full one, which alone gives a score."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from archives.records import FULL, Split
from evolve.config import Config
from evolve.randomness import rng
from evolve.tables.judging import TOP


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    Attributes:
        name: Its name; "full" for the last one.
        cases: Cases it judges; None leaves them to the evaluator.
        timeout: Time limit of one run, in seconds.
        chunk: Cases of one run; None judges all in one.
        gate: What a candidate must reach: a score, "parent", "champion", or "top 25%".
        slack: How far below its gate a candidate may be.
    """

    name: str
    cases: tuple[str, ...] | None
    timeout: float
    chunk: int | None = None
    gate: float | str | None = None
    slack: float = 0.0

    @property
    def runs(self) -> int:
        """Most runs of the evaluator that one evaluation takes, second copies left out."""
        if self.chunk is None or self.cases is None:
            return 1
        return math.ceil(len(self.cases) / self.chunk)

    @property
    def top(self) -> float | None:
        """Share of the candidates that the gate lets pass, where that is what it asks for."""
        found = re.fullmatch(TOP, self.gate) if isinstance(self.gate, str) else None
        return None if found is None else int(found[1]) / 100

    def chunks(self, cases: Sequence[str]) -> list[tuple[str, ...]]:
        """Cases as they are handed out to runs, in this order."""
        size = self.chunk or max(1, len(cases))
        return [tuple(cases[start : start + size]) for start in range(0, len(cases), size)]


def screens(config: Config) -> tuple[Stage, ...]:
    """The stages in front of the full one, in their order."""
    table = config.evaluator
    made = []
    for one in table.stages:
        cases = one.cases or table.cases
        if one.sample is not None and table.cases is not None:
            drawn = set(rng(config.campaign.seed, 0, f"stage/{one.name}").sample(table.cases, one.sample))
            cases = [case for case in table.cases if case in drawn]
        made.append(
            Stage(
                one.name,
                None if cases is None else tuple(cases),
                one.timeout or table.timeout,
                table.chunk,
                one.gate,
                one.slack,
            )
        )
    return tuple(made)


def full(config: Config, split: Split = "search") -> Stage:
    """The full stage, on the cases of the search or of the holdout."""
    cases = config.holdout.cases if split == "holdout" else config.evaluator.cases
    return Stage(
        FULL, None if cases is None else tuple(cases), config.evaluator.timeout, config.evaluator.chunk
    )


def look(config: Config) -> int:
    """Most runs of the evaluator that the first look at a candidate takes."""
    return sum(stage.runs for stage in screens(config)) + config.evaluator.repeats * full(config).runs
