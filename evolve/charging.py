"""Model calls as they go into the journal: numbered, and charged to the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archives.records import Call, Proposal
from evolve.run import Run


def numbered(run: Run, proposal: Proposal, calls: Sequence[Call]) -> list[Call]:
    """Model calls with their numbers, charged to the budget."""
    result = []
    for call in calls:
        run.budget.spend(tokens=call.prompt_tokens + call.completion_tokens, usd=call.usd or 0.0)
        result.append(replace(call, id=run.number("call"), proposal=proposal.number))
    return result
