"""Distil: several changes that each helped, and were each overtaken, put together onto the champion.

A change that was good for its parent and came too late is not used up: its candidate stays in the archive,
and mostly says nothing against the changes beside it. Where a few such have come together, all of them are
carried over in one candidate, without a model and at the price of one evaluation. FlashEvolve describes the
batch as one more way to treat stale work ("meta"); there a model writes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.operators.joining import join

NAME = "distill"
BATCH = 3
"""Overtaken changes that are put together as soon as there are so many."""


class Distill(Stateless):
    """Merges the changes that the order's inspirations made into its parent, one after the other."""

    name = NAME
    is_async = False
    needs: Needs = "parent"

    def handles(self, paths: Sequence[str]) -> bool:
        """Any files can be merged."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Carry over what can be; a change that contradicts those before it is left out.

        Raises:
            Refused: Fewer than two of them could be carried over.
        """
        tree, taken = order.parent.id, []
        for candidate in order.inspirations:
            joined = join(source.store, candidate.parents[0], tree, candidate.id)
            if joined.tree is not None and joined.tree != tree:
                tree = joined.tree
                taken.append(candidate)
        if len(taken) < 2:
            of = len(order.inspirations)
            raise Refused(f"{len(taken)} of {of} overtaken changes fit onto the champion; two are needed")
        names = ", ".join(candidate.id[:8] for candidate in taken)
        return Draft(
            tree=tree,
            summary=f"distil {len(taken)} overtaken changes",
            rationale=f"What {names} changed, each of which helped its parent.",
        )
