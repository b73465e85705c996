"""What a policy is."""

from __future__ import annotations

import random
from typing import Protocol

from evolve.population import Population


class Policy(Protocol):
    """A way to choose the candidate that the next proposal starts from."""

    name: str

    def parent(self, population: Population, random: random.Random) -> str:
        """Id of a judged candidate."""
        ...
