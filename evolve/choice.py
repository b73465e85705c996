"""What to try next: shares among operators, and among policies, that follow what they have won per cost.

Each arm keeps a discounted sum of rewards and of costs. Its value is rewards over costs, pulled towards a
common prior while there are few data; it is drawn in proportion to its configured share times its value.
Forgetting lets an operator that won early and then ran dry lose its share (Fialho et al., "Adaptive
operator selection", 2010); a floor keeps every arm in play. Rewards are counted, not timed, so the same
seed makes the same choices.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PRIOR_REWARD = 0.25
PRIOR_COST = 4.0
FORGET = 0.97
FLOOR = 0.08


@dataclass(slots=True)
class Arm:
    """Discounted record of one arm."""

    share: float
    reward: float = 0.0
    cost: float = 0.0
    tried: int = 0

    @property
    def value(self) -> float:
        """Reward per cost, in [0, 1]."""
        return (self.reward + PRIOR_REWARD * PRIOR_COST) / (self.cost + PRIOR_COST)


class Choice:
    """Draws among named arms and learns from what they won."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self.arms = {name: Arm(share) for name, share in shares.items()}

    def draw(
        self,
        random: random.Random,
        allowed: Mapping[str, bool] | None = None,
        tilts: Mapping[str, float] | None = None,
    ) -> str | None:
        """Name of an arm, None if none is allowed.

        Args:
            random: Generator of this one choice.
            allowed: Arms that can be used now; all where it is not given.
            tilts: Factors on the weights of arms; 1 for those that are not named.
        """
        names = [name for name in self.arms if allowed is None or allowed.get(name, False)]
        weights = self.weights(names, tilts or {})
        return random.choices(names, list(weights.values()))[0] if names else None

    def weights(self, names: Iterable[str], tilts: Mapping[str, float]) -> dict[str, float]:
        """How likely each of the named arms is to be drawn, relative to the others."""
        arms = {name: self.arms[name] for name in names}
        return {name: arm.share * max(arm.value, FLOOR) * tilts.get(name, 1.0) for name, arm in arms.items()}

    def learn(self, name: str, reward: float, cost: float = 1.0) -> None:
        """Take in what one use of an arm won.

        Args:
            name: The arm; unknown ones are passed over.
            reward: In [0, 1].
            cost: In evaluations.
        """
        arm = self.arms.get(name)
        if arm is None:
            return
        arm.reward = FORGET * arm.reward + reward
        arm.cost = FORGET * arm.cost + cost
        arm.tried += 1
