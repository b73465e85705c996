"""Evaluators written for other systems, as the child needs to know them.

What they are and how they are called is in `evaluators/child/foreign/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Contract = Literal["openevolve", "shinka", "gepa"]


@dataclass(frozen=True, slots=True)
class Foreign:
    """An evaluator of another system.

    Attributes:
        contract: Whose contract it keeps.
        program: File of the candidate that is handed over; "" where `components` are.
        components: GEPA: name of each text, and the file that holds it.
        dataset: GEPA: "file.py:name", or a JSON or JSON Lines file; "" for none.
        batch: GEPA: name of the function that takes all pairs at once; "" for none.
        capture_stdio: GEPA: whether what is printed becomes side information.
        raise_on_exception: GEPA: whether an exception fails the candidate or counts as 0.
        cascade: OpenEvolve: whether stages are used where the evaluator has them.
        thresholds: OpenEvolve: what the metrics must reach before stage 2, and before stage 3.
        stage_timeout: OpenEvolve: seconds one call may take; None leaves it to the evaluation's own limit.
        retries: OpenEvolve: how often `evaluate` is tried again where it raised and `cascade` is off.
        features: OpenEvolve: metrics that are axes of its archive and no part of the score.
        arguments: Further arguments of `evaluate` (OpenEvolve) or of the command line (ShinkaEvolve).
    """

    contract: Contract
    program: str = ""
    components: Mapping[str, str] = field(default_factory=dict)
    dataset: str = ""
    batch: str = ""
    capture_stdio: bool = False
    raise_on_exception: bool = True
    cascade: bool = True
    thresholds: tuple[float, ...] = (0.5, 0.75, 0.9)
    stage_timeout: float | None = None
    retries: int = 3
    features: tuple[str, ...] = ("complexity", "diversity")
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What the child gets, as JSON can hold it."""
        return {
            "contract": self.contract,
            "program": self.program,
            "components": dict(self.components),
            "dataset": self.dataset,
            "batch": self.batch,
            "capture_stdio": self.capture_stdio,
            "raise_on_exception": self.raise_on_exception,
            "cascade": self.cascade,
            "thresholds": list(self.thresholds),
            "stage_timeout": self.stage_timeout,
            "retries": self.retries,
            "features": list(self.features),
            "arguments": dict(self.arguments),
        }
