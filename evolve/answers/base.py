"""What all answers share, and how they become JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

State = Literal["running", "paused", "stopped", "finished", "dead"]
Measure = float | str


class Part(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


class Answer(Part):
    """A whole object, as printed."""

    version: Literal[1] = 1
    """Version of the object's format."""

    def to_json(self) -> str:
        """The object as indented JSON; numbers that JSON cannot say become null."""
        return json.dumps(_plain(self.model_dump()), indent=2, ensure_ascii=False, allow_nan=False)


class Ranked(Part):
    """A candidate and its score."""

    candidate: str
    """Id of the candidate (hash of its tree)."""
    score: float
    """Mean score over its evaluations, with the sign of the objective."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
