"""Who comes from whom: the ancestry graph of a campaign.

Descent (Git parents) never has a cycle, since a candidate is made after its parents. The looser ties do: a
proposal may rediscover an ancestor of its own parent. So the two are kept as separate graphs, and questions
of ancestry ask the first alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from archives.records import Candidate, Proposal

EdgeKind = Literal["parent", "crossover", "repaired", "inspiration", "duplicate"]
"""parent: first Git parent. crossover: second Git parent. repaired: its change was carried over from there
to a newer parent. inspiration: its ideas were offered to the proposal. duplicate: a later proposal from
there led to the same tree."""

_KINDS: tuple[EdgeKind, ...] = ("parent", "crossover", "repaired", "inspiration", "duplicate")


@dataclass(frozen=True, slots=True)
class Edge:
    """One tie, from the older (`parent`) to the one that came of it (`child`)."""

    parent: str
    child: str
    kind: EdgeKind


class Lineage:
    """The ancestry graph, built from candidates and proposals and kept up by adding more.

    Unknown candidate ids raise KeyError.
    """

    def __init__(self, candidates: Iterable[Candidate] = (), proposals: Iterable[Proposal] = ()) -> None:
        import networkx

        self.descent: Any = networkx.DiGraph()
        """Git parents to children; edges carry `kind`, nodes their `candidate`."""
        self.ties: Any = networkx.MultiDiGraph()
        """Repairs, inspirations and duplicates; edges are keyed by their kind."""
        for candidate in sorted(candidates, key=lambda candidate: candidate.number):
            self.add_candidate(candidate)
        for proposal in proposals:
            self.add_proposal(proposal)

    def add_candidate(self, candidate: Candidate) -> None:
        """Add a candidate after its parents; adding one again changes nothing but its data."""
        self.descent.add_node(candidate.id, candidate=candidate)
        for parent, kind in zip(candidate.parents, ("parent", "crossover"), strict=False):
            if parent in self:
                self.descent.add_edge(parent, candidate.id, kind=kind)
        if candidate.rebased_from is not None:
            self._tie(candidate.rebased_from, candidate.id, "repaired")

    def add_proposal(self, proposal: Proposal) -> None:
        """Add the ties of a proposal; those to candidates not known (yet) are left out."""
        child = proposal.candidate
        if child is None or child not in self or proposal.outcome not in ("candidate", "duplicate"):
            return
        for source in proposal.inspirations:
            self._tie(source, child, "inspiration")
        if proposal.outcome == "duplicate":
            self._tie(proposal.parent, child, "duplicate")
            if proposal.partner is not None:
                self._tie(proposal.partner, child, "duplicate")

    def __contains__(self, id: object) -> bool:
        return id in self.descent

    def __len__(self) -> int:
        return len(self.descent)

    def candidate(self, id: str) -> Candidate:
        """The candidate with this id."""
        candidate: Candidate = self.descent.nodes[id]["candidate"]
        return candidate

    def candidates(self) -> list[Candidate]:
        """All candidates, by number."""
        return [self.candidate(id) for id in self._ordered(self.descent)]

    def parents(self, id: str) -> list[str]:
        """Git parents, the first one first."""
        self.candidate(id)
        kinds = self.descent.pred[id]
        return sorted(kinds, key=lambda parent: _KINDS.index(kinds[parent]["kind"]))

    def children(self, id: str) -> list[str]:
        """Candidates that have this one as a Git parent, by number."""
        self.candidate(id)
        return self._ordered(self.descent.succ[id])

    def ancestors(self, id: str) -> list[str]:
        """All candidates this one descends from, the youngest first; not itself."""
        return list(self._walk_back([id]))[1:]

    def descendants(self, id: str) -> list[str]:
        """All candidates that descend from this one, by number; not itself."""
        import networkx

        self.candidate(id)
        return self._ordered(networkx.descendants(self.descent, id))

    def path_to_base(self, id: str) -> list[str]:
        """The line of first parents, from this candidate to the base, both included."""
        path = [id]
        while parents := self.parents(path[-1]):
            path.append(parents[0])
        return path

    def common_ancestor(self, one: str, other: str) -> str | None:
        """The youngest candidate that both descend from or are; None if they share none.

        Numbers grow along every edge, so walking back from both by falling number meets it first, without a
        look at anything older.
        """
        if one == other:
            self.candidate(one)
            return one
        reached = {one: {0}, other: {1}}
        for id in self._walk_back([one, other]):
            if len(reached[id]) == 2:
                return id
            for parent in self.descent.pred[id]:
                reached.setdefault(parent, set()).update(reached[id])
        return None

    def edges(self, id: str | None = None) -> list[Edge]:
        """All ties, or those of one candidate, by number of the child, kind, number of the parent."""
        if id is not None:
            self.candidate(id)
        found = [
            Edge(parent, child, kind)
            for parent, child, kind in (
                *self._edges(self.descent, id, data="kind"),
                *self._edges(self.ties, id, keys=True),
            )
        ]
        return sorted(found, key=lambda edge: self._rank(edge.child, edge.kind, edge.parent))

    def _edges(self, graph: Any, id: str | None, **shape: Any) -> Iterator[tuple[str, str, EdgeKind]]:
        if id is None:
            yield from graph.edges(**shape)
        elif id in graph:
            yield from graph.in_edges(id, **shape)
            yield from graph.out_edges(id, **shape)

    def _rank(self, child: str, kind: EdgeKind, parent: str) -> tuple[int, int, int]:
        return self._number(child), _KINDS.index(kind), self._number(parent)

    def _tie(self, source: str, child: str, kind: EdgeKind) -> None:
        if source != child and source in self:
            self.ties.add_edge(source, child, key=kind)

    def _walk_back(self, starts: list[str]) -> Iterator[str]:
        """Starts and all their ancestors, each once, by falling number."""
        seen = set(starts)
        heap = [(-self._number(id), id) for id in starts]
        heapq.heapify(heap)
        while heap:
            _, id = heapq.heappop(heap)
            yield id
            for parent in self.descent.pred[id]:
                if parent not in seen:
                    seen.add(parent)
                    heapq.heappush(heap, (-self._number(parent), parent))

    def _ordered(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=self._number)

    def _number(self, id: str) -> int:
        return self.candidate(id).number
