"""Stale changes carried over by a language model, where a merge cannot or does not help.

The model sees what `edit` sees of the version that is there now, and besides it both sides, the older change
and what has overtaken it, with the evidence for each. It answers as to `edit`.
"""

from __future__ import annotations

from collections.abc import Mapping

from evolve.operators.base import Draft, Order, Overtaken, Source
from evolve.operators.conversation import Asking
from evolve.prompts import quoted
from evolve.prompts.context import within
from evolve.quoting import one_line, plain, shorten

LONGEST_RESULT = 4000
"""Most characters that are quoted of what the evaluator said of a merged change."""


class Repair(Asking):
    """Asks a model to make an overtaken change anew."""

    name = "repair"
    stage = "repair"
    inspire = False

    async def repair(self, order: Order, change: Overtaken, source: Source) -> Draft:
        """Make the change anew on the order's parent.

        Raises:
            Refused: The call failed, or its answer could not be applied, twice.
            NoModelAnswers: There is no use in asking again.
        """
        return await self._converse(order, source, change)

    def task(
        self, order: Order, source: Source, size: int, change: Overtaken | None = None
    ) -> Mapping[str, str]:
        """Both sides, with the evidence for each."""
        if change is None:
            raise ValueError("repair is asked for through `repair`, with a change")
        older, here, half = change.older or change.origin, order.parent.id, size // 2
        return {
            "accepted": self._difference(source, older, here, "what is there now", half),
            "change": self._difference(source, change.origin, change.tree, one_line(change.summary), half),
            "gain": "not judged there" if change.gain is None else f"it won {change.gain:.6g} there",
            "situation": _situation(change),
        }

    def _difference(self, source: Source, old: str, new: str, title: str, size: int) -> str:
        if old == new:
            return "(The change below is shown as it would stand on the version that is there now.)"
        text = within(plain(source.store.sketch(old, new)), self._composer.estimate, size - 40)
        return quoted(f"{title}\n\n{text}", "a change made by others")


def _situation(change: Overtaken) -> str:
    if change.conflicts:
        where = quoted("\n".join(one_line(path) for path in change.conflicts[:20]), "paths")
        return f"The two contradict each other in these files, so they could not be merged:\n\n{where}"
    if change.result:
        said = quoted(shorten(plain(change.result), LONGEST_RESULT), "evaluator")
        return (
            "They were merged, and the result did not get better. It is not part of the files above. "
            f"What the evaluator said:\n\n{said}"
        )
    return "The two have not been tried together."
