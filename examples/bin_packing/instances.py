"""Streams of items for online bin packing, generated anew from (kind, items, seed) wherever they are needed.

Two kinds, both with whole-number sizes. "weibull": shape 3, scale 45, capacity 100, the distribution on which
FunSearch (Romera-Paredes et al., Nature 625, 2024) found better heuristics than best fit. "uniform": 20 to
100, capacity 150, as in the sets u120 to u1000 of the OR-Library (Falkenauer, Journal of Heuristics 2, 1996).
"""

import random
from dataclasses import dataclass

CAPACITY = {"weibull": 100, "uniform": 150}


@dataclass(frozen=True)
class Instance:
    """One stream of items and the capacity of the bins."""

    capacity: int
    items: list[int]

    @property
    def lower_bound(self):
        """The fewest bins that could hold all items, were they liquid (the bound L1)."""
        return -(-sum(self.items) // self.capacity)


def generate(kind, items, seed):
    """The instance of this kind, length and seed, always the same."""
    rng = random.Random(f"{kind}/{seed}")
    if kind == "weibull":
        sizes = [min(max(round(rng.weibullvariate(45, 3)), 1), CAPACITY[kind]) for _ in range(items)]
    else:
        sizes = [rng.randint(20, 100) for _ in range(items)]
    return Instance(CAPACITY[kind], sizes)
