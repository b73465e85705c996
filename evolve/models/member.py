"""One model of the pool with all that is learned about it while it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from evolve.models.breaker import Breaker
from evolve.models.catalog import Facts, facts
from evolve.models.parameters import Parameters
from evolve.models.rates import Bucket
from evolve.models.spec import ModelSpec
from evolve.models.tokens import Meter

BOUNDED_REPLY = 16_384
"""Most tokens of a reply where a budget must hold and the configuration sets no other limit."""
USUAL_REPLY = 8_192
"""Tokens that are left for a reply in the context where nothing limits it."""
FIRST_REPLY = 1_000.0
"""Tokens that a reply is thought to take before there was one; for rates."""


@dataclass
class Member:
    """A model, its rates, its record, and what it refuses.

    Attributes:
        spec: How it is configured.
        facts: What is known of it.
        breaker: Whether it answers.
        meter: How it counts tokens.
        parameters: Which settings it takes.
        requests: Requests a minute.
        tokens: Tokens a minute.
        context: Tokens it takes; what it says itself counts.
        usual_reply: Tokens that its replies take on average.
    """

    spec: ModelSpec
    facts: Facts = field(init=False)
    breaker: Breaker = field(default_factory=Breaker)
    meter: Meter = field(default_factory=Meter)
    parameters: Parameters = field(init=False)
    requests: Bucket = field(init=False)
    tokens: Bucket = field(init=False)
    context: int | None = field(init=False)
    usual_reply: float = FIRST_REPLY

    def __post_init__(self) -> None:
        self.facts = facts(self.spec)
        self.parameters = Parameters(self.spec, self.facts)
        self.requests = Bucket(self.spec.requests_per_minute)
        self.tokens = Bucket(self.spec.tokens_per_minute)
        self.context = self.facts.context

    def longest_reply(self, bounded: bool, estimated: int) -> int | None:
        """Most tokens of a reply; None where nothing limits it.

        Args:
            bounded: Whether there has to be a limit.
            estimated: Estimate of the prompt's tokens.
        """
        if self.spec.max_tokens is not None or not bounded:
            return self.spec.max_tokens
        longest = min(BOUNDED_REPLY, self.facts.longest_reply or BOUNDED_REPLY)
        if self.context is None:
            return longest
        return max(1, min(longest, max(self.context // 4, self.context - self.meter.most(estimated))))

    def room(self, reply: int) -> int | None:
        """Tokens, as `tokens.estimate` counts them, that a prompt may have; None where nobody says.

        Args:
            reply: Tokens to leave for the reply.
        """
        if self.context is None:
            return None
        left = self.spec.max_tokens or min(reply, self.context // 2)
        return max(0, int((self.context - left) / self.meter.factor))

    def learn_size(self, size: int | None) -> bool:
        """Take the context size that the model named; False where that is nothing new."""
        if size is None or size < 256 or (self.context is not None and size >= self.context):
            return False
        self.context = size
        return True

    def could_fit(self, estimated: int) -> bool:
        """Whether a prompt fits after all if its reply is held shorter."""
        bounded = self.spec.max_tokens is not None or self.context is None
        return not bounded and self.meter.most(estimated) < (self.context or 0) * 3 // 4

    def heard(self, estimated: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Learn from a reply what its prompt and it took."""
        self.meter.learn(estimated, prompt_tokens)
        self.usual_reply += (completion_tokens - self.usual_reply) / 8
