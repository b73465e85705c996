"""Always the base: independent attempts, the baseline that any search has to beat."""

from __future__ import annotations

import random

from evolve.population import Population


class IndependentPolicy:
    """Every proposal starts from the user's own commit."""

    name = "independent"

    def parent(self, population: Population, random: random.Random) -> str:
        """The base's id."""
        return population.champions[0].candidate
