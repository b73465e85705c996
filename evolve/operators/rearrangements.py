"""Edits of a syntax tree that move whole statements."""

from __future__ import annotations

import random
from typing import Any

import libcst as cst

from evolve.operators import mutations
from evolve.operators.mutations import Edit, Mutation, Stock, bracketed, code, condition
from evolve.operators.syntaxtree import Place, SyntaxTree, names_in


def delete(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A statement less."""
    place = _statement(tree, rng)
    if place is None:
        return None
    alone = len(getattr(place.way[-1].node, place.way[-1].field)) == 1
    new: Any = cst.SimpleStatementLine([cst.Pass()]) if alone else []
    return tree.replace(place, new), f"delete {_first_line(place.node)}"


def duplicate(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A statement twice."""
    places = [p for p in tree.of_kind("statement") if _repeatable(p.node)]
    if not places:
        return None
    place = rng.choice(places)
    again = place.node.with_changes(leading_lines=[])
    return tree.replace(place, [place.node, again]), f"repeat {_first_line(place.node)}"


def move(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A statement one or two places up or down among its neighbours."""
    place = _statement(tree, rng)
    if place is None:
        return None
    step = place.way[-1]
    body = list(getattr(step.node, step.field))
    at = step.index or 0
    to = at + rng.choice((-2, -1, 1, 2))
    movable = {p.way[-1].index for p in tree.of_kind("statement") if p.way[-1].node is step.node}
    if to not in movable:
        return None
    body.insert(to, body.pop(at))
    block = Place(step.node, "statement", place.way[:-1], place.names, place.order)
    new = tree.replace(block, step.node.with_changes(**{step.field: body}))
    return new, f"move {_first_line(place.node)}"


def swap_branches(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """The two branches of an if the other way round."""
    places = [p for p in tree.of_kind("if") if isinstance(p.node.orelse, cst.Else)]
    if not places:
        return None
    place = rng.choice(places)
    other = place.node.orelse
    new = place.node.with_changes(body=other.body, orelse=other.with_changes(body=place.node.body))
    return tree.replace(place, new), f"swap the branches of if {code(place.node.test)}"


def guard(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A loop that passes over some rounds or ends early, or a statement under a condition."""
    places = [p for p in tree.of_kind("statement") if not _leaves(p.node)]
    if not places:
        return None
    place = rng.choice(places)
    test = condition(tree, place, rng, stock)
    if test is None:
        return None
    in_loop = any(isinstance(step.node, cst.For | cst.While) for step in place.way[-2:])
    if in_loop and rng.random() < 0.6:
        word: Any = rng.choice((cst.Continue, cst.Break))()
        block = cst.IndentedBlock([cst.SimpleStatementLine([word])])
        skip = cst.If(bracketed(test), block)
        return tree.replace(place, [skip, place.node]), f"{code(word)} if {code(test)}"
    inner = cst.IndentedBlock([place.node.with_changes(leading_lines=[])])
    new = cst.If(bracketed(test), inner, leading_lines=place.node.leading_lines)
    return tree.replace(place, new), f"if {code(test)}: {_first_line(place.node)}"


MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (mutations.borrow, 6),
    (mutations.combine, 4),
    (mutations.change_constant, 4),
    (mutations.swap_operator, 4),
    (mutations.wrap, 2),
    (mutations.hoist, 2),
    (mutations.choose_between, 2),
    (mutations.swap_arguments, 1),
    (mutations.negate, 1),
    (delete, 2),
    (duplicate, 1),
    (move, 2),
    (swap_branches, 1),
    (guard, 1),
)
"""Every edit with its weight."""


def _statement(tree: SyntaxTree, rng: random.Random) -> Place | None:
    places = tree.of_kind("statement")
    return rng.choice(places) if places else None


def _leaves(node: Any) -> bool:
    leaving = (cst.Return, cst.Break, cst.Continue, cst.Raise, cst.Pass)
    return isinstance(node, cst.SimpleStatementLine) and any(
        isinstance(small, leaving) for small in node.body
    )


def _repeatable(node: Any) -> bool:
    """Whether doing it twice can differ from doing it once."""
    if not isinstance(node, cst.SimpleStatementLine):
        return True
    return not _leaves(node) and any(_accumulates(small) for small in node.body)


def _accumulates(small: Any) -> bool:
    if isinstance(small, cst.Assign):
        return bool(
            {*names_in(small.value)} & {name for target in small.targets for name in names_in(target)}
        )
    return isinstance(small, cst.AugAssign) or (
        isinstance(small, cst.Expr) and isinstance(small.value, cst.Call)
    )


def _first_line(node: Any) -> str:
    plain = node.with_changes(leading_lines=[])
    text = cst.Module([]).code_for_node(plain).strip().splitlines()[0].strip()
    return text if len(text) <= 40 else text[:37] + "…"
