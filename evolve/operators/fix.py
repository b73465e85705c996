"""Repairs of failing candidates by a language model, which sees the change that broke them and the error."""

from __future__ import annotations

from collections.abc import Mapping

from evolve.operators.base import Needs, Order, Source
from evolve.operators.conversation import Asking
from evolve.prompts import quoted
from evolve.prompts.context import within
from evolve.quoting import one_line, plain


class Fix(Asking):
    """Asks a model to correct a candidate that could not be judged."""

    name = "fix"
    needs: Needs = "failed"
    inspire = False

    def task(self, order: Order, source: Source, size: int) -> Mapping[str, str]:
        """The change that led to the failing candidate."""
        origin = order.parent.parents[0] if order.parent.parents else order.base.id
        text = within(plain(source.store.sketch(origin, order.parent.id)), self._composer.estimate, size)
        title = one_line(order.parent.summary) or "no title"
        return {"change": quoted(f"{title}\n\n{text}", "the change that broke it")}
