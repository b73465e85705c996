"""Elites of the archive (MAP-Elites, Mouret & Clune, arXiv 1504.04909), the better ones more often.

Plain MAP-Elites draws elites evenly. With budgets of hundreds, not millions, of evaluations most cells hold
curiosities; a tournament of two keeps every cell reachable and spends twice as much on the better half.
"""

from __future__ import annotations

import random

from evolve.population import Population

TOURNAMENT = 2


class QualityDiversityPolicy:
    """Every proposal starts from an elite drawn by a small tournament."""

    name = "qd"

    def parent(self, population: Population, random: random.Random) -> str:
        """Id of an elite."""
        elites = population.elites()
        return elites[min(random.randrange(len(elites)) for _ in range(TOURNAMENT))].candidate
