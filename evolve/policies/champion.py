"""Always the champion: the steepest way up, and the first to get stuck."""

from __future__ import annotations

import random

from evolve.population import Population


class ChampionPolicy:
    """Every proposal starts from the champion."""

    name = "champion"

    def parent(self, population: Population, random: random.Random) -> str:
        """The champion's id."""
        return population.champion.candidate
