"""Questions about many candidates and how they stand to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import archives.grid
from archives.reader import Reader
from archives.records import Candidate, Proposal
from evolve.answering.candidates import judgement
from evolve.answers import Archive, Axis, ChampionEntry, Champions, Edge, Elite, Lineage, Node
from evolve.derived import View, look

Kind = Literal["parent", "crossover", "inspiration", "duplicate"]
Step = tuple[str, str, Kind, int | None]


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
    return Champions(champions=rows, challenges=len(decisions))


def lineage(reader: Reader, candidate: Candidate | None = None) -> Lineage:
    """Ancestry of one candidate, what inspired it included; or of all candidates."""
    view = look(reader)
    known = view.population.candidates
    steps = [s for s in _steps(known, reader.proposals()) if s[0] in known and s[1] in known]
    if candidate is not None:
        family = set(view.population.ancestors(candidate.id))
        steps = [step for step in steps if step[1] in family and step[2] != "duplicate"]
        family |= {parent for parent, _, _, _ in steps}
        known = {id: one for id, one in known.items() if id in family}
    cells = view.cells()
    return Lineage(
        candidate=candidate.id if candidate else None,
        nodes=[_node(view, one, cells) for one in sorted(known.values(), key=lambda c: c.number)],
        edges=[
            Edge(parent=parent, child=child, kind=kind, gain=view.gain(parent, child), proposal=number)
            for parent, child, kind, number in steps
        ],
    )


def _steps(known: Mapping[str, Candidate], proposals: Iterable[Proposal]) -> Iterator[Step]:
    """Every step, by order of creation of the child; those that led to known candidates come last."""
    later: list[Proposal] = []
    first: dict[str, Proposal] = {}
    for proposal in proposals:
        if proposal.candidate is None:
            continue
        maker = known.get(proposal.candidate)
        if maker is not None and maker.proposal == proposal.number:
            first[proposal.candidate] = proposal
        elif proposal.outcome == "duplicate":
            later.append(proposal)
    for child in sorted(known.values(), key=lambda c: c.number):
        for place, parent in enumerate(child.parents):
            yield parent, child.id, "crossover" if place else "parent", child.proposal
        made = first.get(child.id)
        for inspiration in made.inspirations if made else ():
            yield inspiration, child.id, "inspiration", child.proposal
    for proposal in later:
        if proposal.candidate is not None and proposal.parent != proposal.candidate:
            yield proposal.parent, proposal.candidate, "duplicate", proposal.number


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
