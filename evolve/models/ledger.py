"""Money: what a call may cost is set aside before it is made, and what it did cost is booked after it.

A limit that is only looked at between calls is overshot by whatever is in flight, and a bill that is only
written down with the finished proposal is lost with the program. So each request, a repeated one too, goes
through three steps. `begin` reserves the most it may cost, its prompt as estimated (see `tokens`) and the
longest reply it may give, and writes that into the journal before anything is sent. `end` replaces the row
by what was billed. A row whose end nobody saw, because the program was killed or the connection broke,
keeps the most it may have cost: a limit is never exceeded unseen, at the price of ending a little early.

A call that does not fit while others are in flight waits for them, since they give back what they do not
use. When none is, the budget is used up.
"""

from __future__ import annotations

from dataclasses import replace

import trio

from archives.crashpoints import reach
from archives.journal import Journal
from archives.records import Call, Prompt
from evaluators.waiting import outcome
from evolve.budget import Budget
from evolve.models.errors import BudgetSpent

UNSEEN = "the program ended while it was in flight"


class Ledger:
    """The calls of one run, in the budget and in the journal.

    Args:
        budget: Limits on tokens and dollars, and what was spent before.
        journal: Where calls are kept; None: nowhere.
        following: Number of the next call.
    """

    def __init__(self, budget: Budget | None = None, journal: Journal | None = None, following: int = 1):
        self.budget = budget or Budget({})
        self._journal = journal
        self._following = following
        self._held: dict[int, dict[str, float]] = {}
        self._changed = trio.Event()

    @property
    def limited(self) -> bool:
        """Whether what models cost has a limit."""
        return "tokens" in self.budget.limits or "usd" in self.budget.limits

    async def begin(self, call: Call, prompt: Prompt | None = None) -> Call:
        """Reserve what a call may cost and write it down; returns it with its number.

        Args:
            call: The call, with the most it may cost as its amounts.
            prompt: What it asks, where that is not in the journal yet.

        Raises:
            BudgetSpent: It does not fit, and nothing in flight can give anything back.
        """
        amounts = _amounts(call)
        while not self.budget.reserve(**amounts):
            if not self._held:
                self.require(call)
            await self._changed.wait()
        call = replace(call, id=self._following, state="started")
        self._following += 1
        self._held[call.id] = amounts
        try:
            await self._write(*([prompt] if prompt else []), call)
        except BaseException:
            unsent = replace(call, prompt_tokens=0, completion_tokens=0, usd=0.0)
            self._book(replace(unsent, state="failed", error="not sent"))
            raise
        reach("models.started")
        return call

    def require(self, call: Call) -> None:
        """Raise BudgetSpent where the most a call may cost does not fit now."""
        amounts = _amounts(call)
        if not all(self.budget.fits(name, amount) for name, amount in amounts.items()):
            raise BudgetSpent(self._why(amounts))

    async def end(self, call: Call) -> None:
        """Book a call that has ended, with what was billed for it."""
        reach("models.answered")
        self._settle(call)
        with trio.CancelScope(shield=True):
            await self._write(call)
        reach("models.recorded")

    def lose(self, call: Call, reason: str) -> None:
        """Book a call whose end nobody will see, at the most it may have cost; waits for nothing."""
        self._book(replace(call, state="lost", error=reason))

    async def add(self, call: Call, prompt: Prompt | None = None) -> Call:
        """Book a call that was made elsewhere; returns it with its number."""
        call = replace(call, id=self._following)
        self._following += 1
        self.budget.spend(**_amounts(call))
        await self._write(*([prompt] if prompt else []), call)
        return call

    def _book(self, call: Call) -> None:
        self._settle(call)
        if self._journal is not None:
            self._journal.submit(call)

    def _settle(self, call: Call) -> None:
        self.budget.release(**self._held.pop(call.id, {}))
        self.budget.spend(**_amounts(call))
        self._changed.set()
        self._changed = trio.Event()

    async def _write(self, *records: Call | Prompt) -> None:
        if self._journal is not None:
            await outcome(self._journal.submit(*records))

    def _why(self, amounts: dict[str, float]) -> str:
        name = next(name for name, amount in amounts.items() if not self.budget.fits(name, amount))
        limit, spent = self.budget.limits[name], self.budget.spent.get(name, 0)
        what = "dollars for models" if name == "usd" else "tokens"
        hint = "" if spent else "; raise it, or set a lower max_tokens for the model"
        return (
            f"the budget of {limit:g} {what} is used up: {spent:.6g} spent, "
            f"one more call may take {amounts[name]:.6g}{hint}"
        )


def _amounts(call: Call) -> dict[str, float]:
    tokens = {"tokens": float(call.prompt_tokens + call.completion_tokens)}
    return tokens if call.usd is None else tokens | {"usd": call.usd}
