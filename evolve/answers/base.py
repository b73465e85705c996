"""What all answers share, and how they become JSON.

Answers are plain dataclasses: a command that looks must not wait for pydantic, which takes longer to import
than a database of 100,000 candidates takes to answer. pydantic reads them only to write `docs/schemas/`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform

if TYPE_CHECKING:
    from pydantic import ConfigDict

State = Literal["running", "paused", "stopped", "finished", "dead"]
Measure = float | str


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
class Part:
    """A part of an answer; each subclass is a dataclass whose fields are given by name."""

    __pydantic_config__: ClassVar[ConfigDict] = {
        "extra": "forbid",
        "json_schema_serialization_defaults_required": True,
    }

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(kw_only=True, repr=False, eq=False)(cls)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
        )


class Answer(Part):
    """A whole object, as printed."""

    version: Literal[1] = 1
    """Version of the object's format."""

    def to_json(self) -> str:
        """The object as indented JSON; numbers that JSON cannot say become null."""
        return json.dumps(_plain(self), indent=2, ensure_ascii=False, allow_nan=False)


class Ranked(Part):
    """A candidate and its score."""

    candidate: str
    """Id of the candidate (hash of its tree)."""
    score: float
    """Mean score over its evaluations, with the sign of the objective."""


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return {name: _plain(item) for name, item in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
