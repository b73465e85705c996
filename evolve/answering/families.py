"""Questions about many candidates and how they stand to each other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from archives.lineage import Lineage as Graph
from archives.reader import Reader
from archives.records import Candidate, Verdict
from evolve.answering.candidates import judgement
from evolve.answers import Archive, Axis, ChampionEntry, Champions, Edge, Elite, Lineage, Node
from evolve.derived import axes_of, look
from evolve.summary import Summary, summarised


def archive(reader: Reader, running: bool = False) -> Archive:
    """What the archive holds, cell by cell.

    Args:
        reader: The journal.
        running: Whether an orchestrator lives.
    """
    with reader.snapshot():
        summary = summarised(reader, running)
        return Archive(
            axes=[
                Axis(
                    name=axis.name,
                    bins=axis.bins,
                    edges=summary.edges.get(axis.name) or None,
                    values=None if axis.values is None else list(axis.values),
                )
                for axis in axes_of(reader)
            ],
            depth=reader.setting("depth", 1),
            coverage=summary.coverage,
            qd_score=summary.qd_score,
            elites=_elites(reader, summary),
        )


def _elites(reader: Reader, summary: Summary) -> list[Elite]:
    champion = reader.champion()
    found = []
    for cell, held in summary.cells:
        for rank, id in enumerate(held, start=1):
            candidate, score = reader.candidate(id), reader.score(id)
            if candidate is not None and score is not None:
                found.append(
                    Elite(
                        cell=cell,
                        rank=rank,
                        candidate=id,
                        score=score,
                        measures=reader.measures(id),
                        operator=candidate.operator,
                        champion=champion is not None and champion.candidate == id,
                    )
                )
    return found


def champions(reader: Reader) -> Champions:
    """Every champion, the base first."""
    with reader.snapshot():
        decisions = {decision.id: decision for decision in reader.decisions()}
        rows = []
        for champion in reader.champions():
            candidate = reader.candidate(champion.candidate)
            if candidate is None:
                continue
            decision = decisions.get(champion.decision) if champion.decision is not None else None
            rows.append(
                ChampionEntry(
                    number=champion.version,
                    candidate=candidate.id,
                    commit=candidate.commit,
                    score=reader.score(candidate.id),
                    operator=candidate.operator,
                    summary=candidate.summary,
                    evidence=judgement(decision) if decision else None,
                )
            )
    refused = [judgement(one) for one in decisions.values() if not one.promoted]
    return Champions(champions=rows, challenges=len(decisions), refused=refused)


@dataclass(frozen=True, slots=True)
class _Known:
    """What a node and an edge say beyond the graph."""

    score: Callable[[str], float | None]
    verdict: Callable[[str], Verdict | None]
    champion: str | None
    elites: Collection[str]
    sign: int

    def node(self, one: Candidate) -> Node:
        return Node(
            candidate=one.id,
            commit=one.commit,
            score=self.score(one.id),
            operator=one.operator,
            number=one.number,
            summary=one.summary,
            verdict=self.verdict(one.id),
            champion=one.id == self.champion,
            elite=one.id in self.elites,
        )

    def gain(self, parent: str, child: str) -> float | None:
        before, after = self.score(parent), self.score(child)
        return None if before is None or after is None else self.sign * (after - before)


def lineage(reader: Reader, candidate: str | None = None, running: bool = False) -> Lineage:
    """Ancestry of one candidate, what inspired it included; or of all candidates.

    Args:
        reader: The journal.
        candidate: Id of the candidate; None for all.
        running: Whether an orchestrator lives.
    """
    with reader.snapshot():
        if candidate is None:
            graph = Graph(reader.candidates(), reader.proposals())
            return _lineage(graph, None, set(), _all_known(reader))
        family = _family(reader, candidate)
        proposals = [one for id in family for one in reader.proposals(candidate=id)]
        sources = {id for one in proposals for id in one.inspirations}
        sources |= {one.rebased_from for one in family.values() if one.rebased_from is not None}
        more = [one for id in sources - family.keys() if (one := reader.candidate(id)) is not None]
        graph = Graph([*family.values(), *more], proposals)
        return _lineage(graph, candidate, family.keys(), _known(reader, running))


def _family(reader: Reader, candidate: str) -> dict[str, Candidate]:
    """A candidate and all it descends from."""
    family: dict[str, Candidate] = {}
    waiting = [candidate]
    while waiting:
        one = reader.candidate(waiting.pop())
        if one is not None and one.id not in family:
            family[one.id] = one
            waiting += one.parents
    return family


def _known(reader: Reader, running: bool) -> _Known:
    champion = reader.champion()
    return _Known(
        reader.score,
        reader.verdict,
        champion.candidate if champion else None,
        summarised(reader, running).elites,
        1 if reader.setting("direction", "maximize") == "maximize" else -1,
    )


def _all_known(reader: Reader) -> _Known:
    """The same in one pass over the evaluations, for questions about every candidate."""
    population = look(reader)

    def score(candidate: str) -> float | None:
        standing = population.standing(candidate)
        return None if standing is None else standing.score

    champion = population.champion.candidate if population.champions else None
    elites = {entry.candidate for held in population.grid.cells().values() for entry in held}
    return _Known(score, population.verdict, champion, elites, int(population.sign))


def _lineage(graph: Graph, candidate: str | None, family: Collection[str], known: _Known) -> Lineage:
    edges, nodes = graph.edges(), graph.candidates()
    if candidate is not None:
        edges = [edge for edge in edges if edge.child in family and edge.kind != "duplicate"]
        shown = {*family, *(edge.parent for edge in edges)}
        nodes = [one for one in nodes if one.id in shown]
    return Lineage(
        candidate=candidate,
        nodes=[known.node(one) for one in nodes],
        edges=[
            Edge(
                parent=edge.parent,
                child=edge.child,
                kind=edge.kind,
                gain=known.gain(edge.parent, edge.child),
                proposal=None if edge.kind == "duplicate" else graph.candidate(edge.child).proposal,
            )
            for edge in edges
        ],
    )
