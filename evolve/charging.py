"""Model calls that were made elsewhere than at the gateway, which books its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archives.records import Call, Proposal
from evolve.run import Run


async def book(run: Run, proposal: Proposal, calls: Sequence[Call]) -> None:
    """Charge calls to the budget and write them down."""
    for call in calls:
        await run.ledger.add(replace(call, proposal=proposal.number))
