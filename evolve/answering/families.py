"""Questions about many candidates and how they stand to each other."""

from __future__ import annotations

from collections.abc import Mapping

import archives.grid
import archives.lineage
from archives.reader import Reader
from archives.records import Candidate
from evolve.answering.candidates import judgement
from evolve.answers import Archive, Axis, ChampionEntry, Champions, Edge, Elite, Lineage, Node
from evolve.derived import View, look


def archive(reader: Reader) -> Archive:
    """What the archive holds, cell by cell."""
    view = look(reader)
    grid, champion = view.population.grid, view.champion
    elites = [
        Elite(
            cell=list(cell),
            rank=rank,
            candidate=entry.candidate,
            score=view.population.sign * entry.merit,
            measures=dict(entry.measures),
            operator=view.population.candidates[entry.candidate].operator,
            champion=champion is not None and champion.id == entry.candidate,
        )
        for cell, entries in grid.cells().items()
        for rank, entry in enumerate(entries, start=1)
    ]
    lowest = min((grid.estimate(entry) for entry in grid.elites()), default=0.0)
    return Archive(
        axes=[_axis(axis, grid) for axis in grid.axes],
        depth=reader.setting("depth", 1),
        coverage=grid.coverage,
        qd_score=grid.qd_score(lowest),
        elites=elites,
    )


def _axis(axis: archives.grid.Axis, grid: archives.grid.Grid) -> Axis:
    return Axis(
        name=axis.name,
        bins=axis.bins,
        edges=list(grid.edges(axis.name)) or None,
        values=None if axis.values is None else list(axis.values),
    )


def champions(reader: Reader) -> Champions:
    """Every champion, the base first."""
    with reader.snapshot():
        view, decisions = look(reader), {decision.id: decision for decision in reader.decisions()}
    rows = []
    for champion in view.population.champions:
        candidate = view.population.candidates[champion.candidate]
        decision = decisions.get(champion.decision) if champion.decision is not None else None
        rows.append(
            ChampionEntry(
                number=champion.version,
                candidate=candidate.id,
                commit=candidate.commit,
                score=view.score(candidate.id),
                operator=candidate.operator,
                summary=candidate.summary,
                evidence=judgement(decision) if decision else None,
            )
        )
    refused = [judgement(one) for one in decisions.values() if not one.promoted]
    return Champions(champions=rows, challenges=len(decisions), refused=refused)


def lineage(reader: Reader, candidate: str | None = None) -> Lineage:
    """Ancestry of one candidate (its id), what inspired it included; or of all candidates."""
    with reader.snapshot():
        view = look(reader)
        graph = archives.lineage.Lineage(view.population.candidates.values(), reader.proposals())
    edges, shown = graph.edges(), set(view.population.candidates)
    if candidate is not None:
        family = {candidate, *graph.ancestors(candidate)}
        edges = [edge for edge in edges if edge.child in family and edge.kind != "duplicate"]
        shown = family.union(edge.parent for edge in edges)
    cells = view.cells()
    return Lineage(
        candidate=candidate,
        nodes=[_node(view, one, cells) for one in graph.candidates() if one.id in shown],
        edges=[
            Edge(
                parent=edge.parent,
                child=edge.child,
                kind=edge.kind,
                gain=view.gain(edge.parent, edge.child),
                proposal=None if edge.kind == "duplicate" else graph.candidate(edge.child).proposal,
            )
            for edge in edges
        ],
    )


def _node(view: View, candidate: Candidate, cells: Mapping[str, object]) -> Node:
    champion = view.champion
    return Node(
        candidate=candidate.id,
        commit=candidate.commit,
        score=view.score(candidate.id),
        operator=candidate.operator,
        number=candidate.number,
        summary=candidate.summary,
        verdict=view.verdicts.get(candidate.id),
        champion=champion is not None and champion.id == candidate.id,
        elite=candidate.id in cells,
    )
