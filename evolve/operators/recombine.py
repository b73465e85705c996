"""Crossover with a model at hand: merged without one where that works, by one where both sides contradict."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from evolve.operators.base import Draft, Needs, Order, Refused, Source
from evolve.operators.conversation import Asking
from evolve.operators.crossover import Contradiction, Crossover
from evolve.prompts import quoted
from evolve.prompts.context import within
from evolve.quoting import one_line, plain


class Recombine(Asking):
    """Merges two lineages; a model is asked only where a merge by lines and words finds a conflict."""

    name = "crossover"
    needs: Needs = "partner"
    inspire = False

    async def propose_async(self, order: Order, source: Source) -> Draft:
        """Make one candidate of two.

        Raises:
            Refused: One already holds the changes of the other, or the model gave nothing usable.
            NoModelAnswers: There is no use in asking again.
        """
        try:
            return await trio.to_thread.run_sync(Crossover().propose, order, source)
        except Contradiction:
            return await self._converse(order, source)

    def task(self, order: Order, source: Source, size: int) -> Mapping[str, str]:
        """What each side changed since both were one."""
        if order.partner is None or order.ancestor is None:
            raise Refused("crossover needs a second parent with a common ancestor")
        return {
            "ours": self._side(source, order.ancestor, order.parent.id, order.parent.summary, size // 2),
            "theirs": self._side(source, order.ancestor, order.partner.id, order.partner.summary, size // 2),
            "partner_verdict": "no score"
            if order.partner_score is None
            else f"its score is {order.partner_score:.10g}",
        }

    def _side(self, source: Source, old: str, new: str, summary: str, size: int) -> str:
        text = within(plain(source.store.sketch(old, new)), self._composer.estimate, size - 40)
        return quoted(f"{one_line(summary)}\n\n{text}", "a change made by others")
