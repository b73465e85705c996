"""What models took: by model, operator and stage, and all together."""

from __future__ import annotations

from evolve.answers.base import Answer, Part


class Bill(Part):
    """What calls took together."""

    calls: int
    """Requests, repeated ones each for itself."""
    answered: int
    """Those with a usable reply."""
    failed: int
    """Those without, whose end was seen."""
    lost: int
    """Those whose end nobody saw: a time-out, a broken connection, a killed program."""
    in_flight: int
    """Those whose end is not known yet."""
    repeated: int
    """Replies of a recording, given again; nothing is billed for them."""
    prompt_tokens: int
    """Tokens of the prompts of answered and failed calls."""
    completion_tokens: int
    """Tokens of their replies."""
    cached_tokens: int
    """Prompt tokens that providers had in their cache."""
    usd: float
    """Dollars billed for answered and failed calls whose price is known."""
    unpriced: int
    """Answered and failed calls whose price is not known."""
    at_most_tokens: int
    """Tokens that lost calls and those in flight may have cost besides, at most."""
    at_most_usd: float
    """Dollars that they may have cost besides, at most."""
    seconds: float
    """Mean time from request to answer; 0 where nothing was answered."""
    slowest: float
    """Time of the slowest request."""


class CostLine(Bill):
    """The calls of one operator in one stage to one model."""

    model: str
    """Model that was asked."""
    operator: str
    """Operator that asked."""
    stage: str
    """Stage it asked in: propose, repair, …"""


class ReplyCounts(Part):
    """What became of the replies that models gave to proposals which have ended."""

    replies: int
    """Replies; a proposal whose first one cannot be used is asked once more."""
    proposals: int
    """Proposals they were given for."""
    usable: int
    """Of these proposals, those whose reply changed the parent."""
    new: int
    """Of these, those that led to a program which was not known."""


class Costs(Answer):
    """`evolve costs`: what models took."""

    campaign: str
    """Name of the campaign."""
    costs: list[CostLine]
    """By model, operator and stage, the dearest first."""
    total: Bill
    """All together."""
    replies: ReplyCounts
    """How many replies could be used."""
