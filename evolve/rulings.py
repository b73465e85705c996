"""What a promotion rule hands back, and how its numbers are put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule says about one challenger.

    Attributes:
        promoted: Whether it becomes champion.
        rule: The rule that decided, "strict" or "evalue".
        reason: The ruling in one line, with the user's own numbers.
        evidence: The numbers behind it (JSON).
    """

    promoted: bool
    rule: str
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


def shown(value: float, digits: int = 6, signed: bool = False) -> str:
    """A number as people write it."""
    return f"{value:+.{digits}g}" if signed else f"{value:.{digits}g}"


def compared(one: float, other: float, one_is: str = "", other_is: str = "") -> str:
    """Two numbers and how they stand to each other: "12 is lower than 20".

    Args:
        one: The first number.
        other: The second number.
        one_is: Words before the first.
        other_is: Words before the second.
    """
    word = "equals" if one == other else "is higher than" if one > other else "is lower than"
    digits = next((d for d in range(6, 17) if one == other or shown(one, d) != shown(other, d)), 17)
    return f"{one_is}{shown(one, digits)} {word} {other_is}{shown(other, digits)}"
