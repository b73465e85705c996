"""Which operator works next, and which model it asks: a bandit over pairs of the two.

What a pair has won is divided by what it cost (see `choice`; rewards are places, not scores, so that scores
may be negative or of any scale). An evaluation costs 1, a proposal that led to none 0.25. Dollars are
counted in the mean price of a proposal so far, lately more, so that a pair which asks a model at the usual
price costs about twice what an offline one does, and one at a tenth of it hardly more.

Cheap models come first: while the campaign gets on, the share of a model is divided by its price, relative to
the cheapest. The longer no champion has been found, the less; after `PATIENCE` proposals price no longer
counts, after twice as many the dearest comes first. Everything is a function of the journal, so a resumed
campaign chooses as if it had never stopped.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from archives.records import Admission, Proposal
from evolve.choice import FORGET, Choice

COST_WITHOUT_EVALUATION = 0.25
PATIENCE = 20
"""Proposals without a new champion after which price no longer counts."""
DEAREST = 16.0
"""Times the price of the cheapest model beyond which a model counts as no dearer."""
PROMOTED = 1.0
"""Reward of a proposal that made a champion."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One arm.

    Attributes:
        operator: Name of the operator.
        share: Its configured share, that of the model in the pool included.
        model: Model it asks; None where it asks none, or leaves the choice to the gateway.
        price: Dollars per million tokens of the model, prompt and reply mixed; None where it is not known.
    """

    operator: str
    share: float
    model: str | None = None
    price: float | None = None

    @property
    def name(self) -> str:
        """Name of the arm."""
        return self.operator if self.model is None else f"{self.operator} {self.model}"


class Arms:
    """Draws among pairs and learns from what their proposals came to."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = {pair.name: pair for pair in pairs}
        self.choice = Choice({name: pair.share for name, pair in self.pairs.items()})
        self.stalled = 0
        self._usd = 0.0
        self._priced = 0.0
        prices = [pair.price for pair in pairs if pair.price]
        self._cheapest = min(prices, default=None)

    def draw(self, random: random.Random, usable: Mapping[str, bool]) -> Pair | None:
        """The next pair, None if no operator can be used.

        Args:
            random: Generator of this one choice.
            usable: Whether each operator can be used now.
        """
        allowed = {name: usable.get(pair.operator, False) for name, pair in self.pairs.items()}
        name = self.choice.draw(random, allowed, self._tilts())
        return None if name is None else self.pairs[name]

    def shares(self) -> dict[str, float]:
        """The chance of each arm now, if all could be used."""
        weights = self.choice.weights(self.pairs, self._tilts())
        whole = sum(weights.values())
        return {name: weight / whole for name, weight in weights.items()}

    def _tilts(self) -> dict[str, float]:
        """What price makes of each share: an advantage of the cheap that turns round when nothing is won."""
        exponent = min(1.0, self.stalled / PATIENCE - 1.0)
        tilts = {}
        for name, pair in self.pairs.items():
            if pair.price is not None and self._cheapest:
                tilts[name] = min(max(pair.price / self._cheapest, 1.0), DEAREST) ** exponent
        return tilts

    def learn(self, proposal: Proposal | Admission, usd: float | None) -> None:
        """Take in one closed proposal; in the order of admission.

        Args:
            proposal: The proposal.
            usd: What its model calls cost; None where nobody knows.
        """
        reward = proposal.reward or 0.0
        self.stalled = 0 if reward >= PROMOTED else self.stalled + 1
        cost = 1.0 if proposal.outcome == "candidate" else COST_WITHOUT_EVALUATION
        if usd:
            self._usd = FORGET * self._usd + usd
            self._priced = FORGET * self._priced + 1.0
            cost += usd * self._priced / self._usd
        pair = self.of(proposal)
        if pair is not None:
            self.choice.learn(pair.name, reward, cost)

    def of(self, proposal: Proposal | Admission) -> Pair | None:
        """The arm of a proposal: its operator with the model that wrote it, else its operator alone."""
        named = f"{proposal.operator} {proposal.model}"
        return self.pairs.get(named) or self.pairs.get(proposal.operator)

    def said(self) -> list[dict[str, Any]]:
        """The pairs as JSON for the journal."""
        return [asdict(pair) for pair in self.pairs.values()]
