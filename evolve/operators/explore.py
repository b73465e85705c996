"""Exploration by a language model: the parent's idea is set aside for another one."""

from __future__ import annotations

from collections.abc import Mapping

from evolve.operators.base import Order, Source
from evolve.operators.conversation import Asking
from evolve.prompts import quoted
from evolve.quoting import one_line


class Explore(Asking):
    """Asks a model for an approach that none of those at hand is."""

    name = "explore"
    inspire = False

    def task(self, order: Order, source: Source, size: int) -> Mapping[str, str]:
        """The ideas that have been taken: those of this line of candidates and of others that did well."""
        seen = dict.fromkeys(
            one_line(each.summary, 120) or "no title"
            for each in (order.parent, *order.lineage, *order.inspirations)
        )
        return {"taken": quoted("\n".join(seen), "ideas that have been taken")}
