"""Hard limits: what is about to be spent is reserved before it starts.

A limit that is looked at between rounds is overshot by whatever is in flight. Here nothing starts without a
reservation, and a reservation is either spent or given back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_WORDS = {"usd": "dollars for models", "tokens": "tokens", "wall": "seconds of wall time"}


def extended(limits: Mapping[str, float], added: Mapping[str, float]) -> dict[str, float]:
    """The limits that hold: those of the configuration, with what was added to them since."""
    return {name: limit + added.get(name, 0) for name, limit in limits.items()}


@dataclass(slots=True)
class Budget:
    """Limits, what has been spent, and what is reserved; amounts in the unit of each limit.

    Attributes:
        limits: Limit by name: proposals, evaluations, wall (seconds), tokens, usd.
        spent: What has been spent, by the same names.
        reserved: What is promised to work in flight.
    """

    limits: Mapping[str, float]
    spent: dict[str, float] = field(default_factory=dict)
    reserved: dict[str, float] = field(default_factory=dict)

    def left(self, name: str) -> float:
        """What may still be reserved; infinity without a limit."""
        limit = self.limits.get(name, float("inf"))
        return limit - self.spent.get(name, 0) - self.reserved.get(name, 0)

    def fits(self, name: str, amount: float) -> bool:
        """Whether an amount may still be reserved; sums of dollars are not held to their last bit."""
        return amount <= self.left(name) + 1e-9 * abs(self.limits.get(name, 0))

    def reserve(self, **amounts: float) -> bool:
        """Reserve all of the amounts, or none if one does not fit."""
        if any(not self.fits(name, amount) for name, amount in amounts.items()):
            return False
        for name, amount in amounts.items():
            self.reserved[name] = self.reserved.get(name, 0) + amount
        return True

    def release(self, **amounts: float) -> None:
        """Give reservations back."""
        for name, amount in amounts.items():
            self.reserved[name] = self.reserved.get(name, 0) - amount

    def spend(self, **amounts: float) -> None:
        """Record what was spent (reservations are given back apart)."""
        for name, amount in amounts.items():
            self.spent[name] = self.spent.get(name, 0) + amount

    def used_up(self) -> str | None:
        """The first limit that nothing is left of, as a sentence for people."""
        for name, limit in self.limits.items():
            if self.spent.get(name, 0) >= limit:
                return f"the budget of {limit:g} {_WORDS.get(name, name)} is used up"
        return None
