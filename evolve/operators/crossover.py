"""Crossover: a three-way merge of two lineages in which the changes of both survive."""

from __future__ import annotations

from collections.abc import Sequence

from archives.records import Candidate
from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.operators.joining import join


class Contradiction(Refused):
    """Both parents changed the same places differently."""


class Crossover(Stateless):
    """Merges the partner's changes since the common ancestor into the parent."""

    name = "crossover"
    is_async = False
    needs: Needs = "partner"

    def handles(self, paths: Sequence[str]) -> bool:
        """Any files can be merged."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Merge by Git first, and what it calls conflicts by words."""
        if order.partner is None or order.ancestor is None:
            raise Refused("crossover needs a second parent with a common ancestor")
        parent, partner = order.parent, order.partner
        joined = join(source.store, order.ancestor, parent.id, partner.id)
        if joined.tree is None:
            where = ", ".join(joined.conflicts[:5])
            raise Contradiction(f"crossover: both parents changed the same places of {where}")
        tree = joined.tree
        finer = f"; merged by words: {', '.join(joined.finer[:3])}" if joined.finer else ""
        if tree in (parent.id, partner.id, order.ancestor):
            raise Refused("crossover: one parent already holds the changes of the other")
        return Draft(
            tree=tree,
            summary=f"cross {_title(parent)} with {_title(partner)}",
            rationale=f"Merge of {parent.id[:10]} and {partner.id[:10]} over {order.ancestor[:10]}{finer}.",
        )


def _title(candidate: Candidate) -> str:
    return f"{candidate.id[:8]} ({candidate.operator})"
