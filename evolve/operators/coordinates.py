"""The scale on which a number is searched.

A literal may be a probability, a tolerance of 1e-9, a count of 5,000 or a weight that should have the
other sign. One unit of a coordinate is "a sensible first step" for all of them: about a quarter of the
value, at least one for whole numbers, less where a value just below 1 looks like a rate. Between value
and coordinate stands `value = a·sinh(t)`: nearly linear around zero, so that a number may become zero or
change sign, and geometric far from it, so that ten steps in one direction are a factor and not a sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evolve.operators.literals import MAX_MAGNITUDE, Literal

NOTHING = 1e-300
"""Values below this are taken for zero."""
LIMIT = 25.0
"""Coordinates stay within this many steps of where they began, so that no count explodes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One number as a coordinate; 0 is its value at the origin, 1 a sensible step away."""

    literal: Literal
    bend: float
    middle: float
    unit: float

    @classmethod
    def at(cls, literal: Literal) -> Axis:
        """An axis whose origin is the literal's value."""
        value = literal.value if abs(literal.value) > NOTHING else 0.0
        size = abs(value)
        step = first_step(value, literal.integer)
        extreme = not literal.integer and size and not 1e-3 <= size <= 1e5
        bend = size / 8 if extreme else size / 2
        if literal.integer:
            bend = max(bend, 1.0)
        bend = bend or 1.0
        unit = step / math.hypot(bend, value)
        return cls(literal, bend, math.asinh(value / bend), unit)

    def value(self, coordinate: float) -> float:
        """The exact value at a coordinate, not yet rounded for writing."""
        coordinate = min(max(coordinate, -LIMIT), LIMIT)
        value = self.bend * math.sinh(self.middle + coordinate * self.unit)
        return min(max(value, -MAX_MAGNITUDE), MAX_MAGNITUDE)

    def coordinate(self, value: float) -> float:
        """The coordinate of a value."""
        return (math.asinh(value / self.bend) - self.middle) / self.unit


def first_step(value: float, integer: bool) -> float:
    """How far to move a number at first, in its own unit."""
    size = abs(value)
    if integer:
        return max(1.0, 0.3 * size)
    if size == 0:
        return 0.25
    if 0.5 <= size < 1:
        return max(0.5 * (1 - size), 0.05 * size)
    if not 1e-3 <= size <= 1e5:
        return size
    return 0.25 * size
