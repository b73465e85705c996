"""Ancestry follows Git parents alone; everything else is a looser tie beside it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_samples import candidate, id_of, proposal

from archives.lineage import Edge, Lineage

ROOT = Path(__file__).parents[2]

# 0 ── 1 ── 3 ── 5
#   └─ 2 ── 4 ─┘ (5 is a crossover of 3 and 4)
FAMILY = [
    candidate(0),
    candidate(1, 0),
    candidate(2, 0),
    candidate(3, 1),
    candidate(4, 2),
    candidate(5, 3, 4),
]


def ids(*numbers: int) -> list[str]:
    return [id_of(number) for number in numbers]


def test_parents_come_first_one_first_and_children_by_number() -> None:
    lineage = Lineage(FAMILY)
    assert lineage.parents(id_of(5)) == ids(3, 4)
    assert lineage.parents(id_of(0)) == []
    assert lineage.children(id_of(0)) == ids(1, 2)
    assert lineage.children(id_of(4)) == ids(5)


def test_ancestors_come_youngest_first_and_descendants_oldest_first() -> None:
    lineage = Lineage(FAMILY)
    assert lineage.ancestors(id_of(5)) == ids(4, 3, 2, 1, 0)
    assert lineage.ancestors(id_of(3)) == ids(1, 0)
    assert lineage.ancestors(id_of(0)) == []
    assert lineage.descendants(id_of(2)) == ids(4, 5)


def test_the_path_to_the_base_follows_first_parents() -> None:
    lineage = Lineage(FAMILY)
    assert lineage.path_to_base(id_of(5)) == ids(5, 3, 1, 0)
    assert lineage.path_to_base(id_of(0)) == ids(0)


def test_the_common_ancestor_is_the_youngest_that_both_share() -> None:
    lineage = Lineage(FAMILY)
    assert lineage.common_ancestor(id_of(3), id_of(4)) == id_of(0)
    assert lineage.common_ancestor(id_of(5), id_of(4)) == id_of(4)
    assert lineage.common_ancestor(id_of(4), id_of(4)) == id_of(4)
    assert Lineage([candidate(0), candidate(1)]).common_ancestor(id_of(0), id_of(1)) is None


def test_every_kind_of_edge_is_told_apart() -> None:
    lineage = Lineage(
        FAMILY,
        [
            proposal(
                3, 1, outcome="candidate", state="done", candidate=id_of(3), inspirations=(id_of(2), id_of(0))
            ),
            proposal(6, 4, outcome="duplicate", state="done", candidate=id_of(3)),
            proposal(7, 4, outcome="failed", state="done", inspirations=(id_of(0),)),
            proposal(8, 3, outcome="unchanged", state="done", candidate=id_of(3)),
        ],
    )
    assert lineage.edges(id_of(3)) == [
        Edge(id_of(1), id_of(3), "parent"),
        Edge(id_of(0), id_of(3), "inspiration"),
        Edge(id_of(2), id_of(3), "inspiration"),
        Edge(id_of(4), id_of(3), "duplicate"),
        Edge(id_of(3), id_of(5), "parent"),
    ]
    assert Edge(id_of(4), id_of(5), "crossover") in lineage.edges()
    assert len(lineage.edges()) == 6 + 3


def test_a_return_to_an_ancestor_is_a_tie_and_makes_nobody_their_own_ancestor() -> None:
    back = proposal(9, 5, outcome="duplicate", state="done", candidate=id_of(1), inspirations=(id_of(1),))
    lineage = Lineage(FAMILY, [back])
    assert lineage.ancestors(id_of(1)) == ids(0)
    assert lineage.edges(id_of(1)) == [
        Edge(id_of(0), id_of(1), "parent"),
        Edge(id_of(5), id_of(1), "duplicate"),
        Edge(id_of(1), id_of(3), "parent"),
    ]


def test_the_same_tie_twice_is_one_edge() -> None:
    again = [proposal(n, 4, outcome="duplicate", state="done", candidate=id_of(3)) for n in (7, 8)]
    kinds = [edge.kind for edge in Lineage(FAMILY, again).edges(id_of(3)) if edge.child == id_of(3)]
    assert kinds == ["parent", "duplicate"]


def test_a_proposal_that_speaks_of_unknown_candidates_is_no_error() -> None:
    unknown = proposal(9, 8, outcome="duplicate", state="done", candidate=id_of(1), inspirations=ids(7))
    newer = proposal(10, 1, outcome="candidate", state="made", candidate=id_of(9))
    lineage = Lineage(FAMILY, [unknown, newer])
    assert len(lineage) == len(FAMILY)
    assert len(lineage.edges()) == 6


def test_a_candidate_nobody_knows_is_a_key_error() -> None:
    lineage = Lineage(FAMILY)
    assert id_of(9) not in lineage
    for question in (
        lineage.candidate,
        lineage.parents,
        lineage.children,
        lineage.ancestors,
        lineage.descendants,
        lineage.path_to_base,
        lineage.edges,
    ):
        with pytest.raises(KeyError):
            question(id_of(9))
    with pytest.raises(KeyError):
        lineage.common_ancestor(id_of(9), id_of(9))


@st.composite
def families(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Parents of each candidate, by number; each has up to two among those before it."""
    size = draw(st.integers(1, 14))
    return [
        tuple(draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else [])
        for number in range(size)
    ]


@settings(max_examples=60, deadline=None)
@given(parents=families(), data=st.data())
def test_ancestry_is_what_following_parents_gives(
    parents: list[tuple[int, ...]], data: st.DataObject
) -> None:
    lineage = Lineage(candidate(number, *mine) for number, mine in enumerate(parents))
    known: list[set[int]] = []
    for mine in parents:
        known.append(set(mine).union(*(known[parent] for parent in mine)))
    one, other = (data.draw(st.integers(0, len(parents) - 1)) for _ in range(2))
    assert lineage.ancestors(id_of(one)) == ids(*sorted(known[one], reverse=True))
    assert lineage.descendants(id_of(one)) == ids(*(n for n, mine in enumerate(known) if one in mine))
    shared = (known[one] | {one}) & (known[other] | {other})
    expected = id_of(max(shared)) if shared else None
    assert lineage.common_ancestor(id_of(one), id_of(other)) == expected


@settings(max_examples=30, deadline=None)
@given(parents=families(), order=st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_are_handed_over_does_not_matter(
    parents: list[tuple[int, ...]], order: object
) -> None:
    family = [candidate(number, *mine) for number, mine in enumerate(parents)]
    shuffled = list(family)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Lineage(shuffled).edges() == Lineage(family).edges()
    grown = Lineage()
    for one in family:
        grown.add_candidate(one)
    assert grown.edges() == Lineage(family).edges()


def test_networkx_is_loaded_only_when_a_graph_is_built() -> None:
    program = "import sys, archives.lineage; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_a_rebased_candidate_has_an_edge_from_where_its_change_was_made() -> None:
    moved = replace(candidate(3, 2), rebased_from=id_of(1))
    graph = Lineage([candidate(0), candidate(1, 0), candidate(2, 0), moved])
    assert Edge(id_of(1), id_of(3), "repaired") in graph.edges(id_of(3))
    assert graph.ancestors(id_of(3)) == ids(2, 0)
