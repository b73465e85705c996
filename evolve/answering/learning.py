"""What the choice of operators, models and policies has learned, rebuilt from the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from archives.reader import Reader
from archives.records import Proposal
from evolve.answers import ArmRecord
from evolve.arms import COST_WITHOUT_EVALUATION, PROMOTED, Arms, Pair
from evolve.choice import Choice


def arms(reader: Reader) -> list[ArmRecord]:
    """The record of each pair of operator and model, then of each policy.

    Proposals of operators that the campaign no longer has, or never had as a choice, are left out.
    """
    learned = Arms([Pair(**pair) for pair in reader.setting("arms") or []])
    policies = Choice(dict.fromkeys(reader.setting("policies") or [], 1.0))
    by_pair: dict[str, list[Proposal]] = {name: [] for name in learned.pairs}
    by_policy: dict[str, list[Proposal]] = {name: [] for name in policies.arms}
    dollars: dict[int, float] = {}
    closed = [proposal for proposal in reader.proposals("done") if proposal.admitted is not None]
    for proposal in sorted(closed, key=lambda each: each.admitted or 0):
        usd = reader.usd_of(proposal.number) if proposal.model else None
        dollars[proposal.number] = usd or 0.0
        learned.learn(proposal, usd)
        cost = 1.0 if proposal.outcome == "candidate" else COST_WITHOUT_EVALUATION
        policies.learn(proposal.policy, proposal.reward or 0.0, cost)
        pair = learned.of(proposal)
        if pair is not None:
            by_pair[pair.name].append(proposal)
        if proposal.policy in by_policy:
            by_policy[proposal.policy].append(proposal)
    shares = learned.shares()
    found = [
        _record(
            "operator", pair.operator, pair.model, by_pair[name], dollars, shares[name], learned.choice, name
        )
        for name, pair in learned.pairs.items()
    ]
    weights = policies.weights(policies.arms, {})
    whole = sum(weights.values())
    return found + [
        _record("policy", name, None, by_policy[name], dollars, weights[name] / whole, policies, name)
        for name in policies.arms
    ]


def _record(
    kind: str,
    name: str,
    model: str | None,
    proposals: Iterable[Proposal],
    dollars: dict[int, float],
    share: float,
    choice: Choice,
    key: str,
) -> ArmRecord:
    known = list(proposals)
    return ArmRecord(
        kind=kind,
        name=name,
        model=model,
        proposals=len(known),
        outcomes=dict(sorted(Counter(each.outcome or "open" for each in known).items())),
        improved=sum(each.gain is not None and each.gain > 0 for each in known),
        promoted=sum((each.reward or 0.0) >= PROMOTED for each in known),
        reward=sum(each.reward or 0.0 for each in known),
        usd=sum(dollars[each.number] for each in known),
        value=choice.arms[key].value,
        share=share,
    )
