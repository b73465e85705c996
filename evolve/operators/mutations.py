"""Single edits of a syntax tree.

Each takes a tree, a keyed generator and a stock of borrowed expressions, and returns the new module with
a few words on what it did, or None where it finds nothing to do. None of them promises a better program,
only one that reads names which exist where they are read and that does not grow without bound.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from evolve.operators.literals import Literal
from evolve.operators.syntaxtree import Place, SyntaxTree, names_in, size_of

Edit = tuple[cst.Module, str]
Stock = Sequence[Any]
Mutation = Callable[[SyntaxTree, random.Random, Stock], Edit | None]

MAX_BORROWED = 40
"""Greatest size in nodes of an expression that is put somewhere else."""

_ARITHMETIC: tuple[type[Any], ...] = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
_OTHERS: dict[type[Any], tuple[type[Any], ...]] = {
    **{kind: tuple(other for other in _ARITHMETIC if other is not kind) for kind in _ARITHMETIC},
    cst.FloorDivide: (cst.Divide, cst.Modulo),
    cst.Modulo: (cst.FloorDivide, cst.Multiply),
    cst.Power: (cst.Multiply,),
    cst.LessThan: (cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual),
    cst.LessThanEqual: (cst.LessThan, cst.GreaterThanEqual),
    cst.GreaterThan: (cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual),
    cst.GreaterThanEqual: (cst.GreaterThan, cst.LessThanEqual),
    cst.Equal: (cst.NotEqual, cst.LessThanEqual, cst.GreaterThanEqual),
    cst.NotEqual: (cst.Equal, cst.LessThan, cst.GreaterThan),
    cst.And: (cst.Or,),
    cst.Or: (cst.And,),
    cst.AddAssign: (cst.SubtractAssign, cst.MultiplyAssign),
    cst.SubtractAssign: (cst.AddAssign,),
    cst.MultiplyAssign: (cst.DivideAssign, cst.AddAssign),
    cst.DivideAssign: (cst.MultiplyAssign,),
}
_NUMERIC = (
    cst.Name,
    cst.Integer,
    cst.Float,
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.Subscript,
    cst.Attribute,
)
_LENDABLE = (*_NUMERIC, cst.Call, cst.IfExp, cst.Comparison, cst.BooleanOperation)
_COMPOUND = (
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.Comparison,
    cst.BooleanOperation,
    cst.IfExp,
    cst.Lambda,
)


def stock_of(tree: SyntaxTree) -> list[Any]:
    """The expressions of a tree that others may borrow."""
    return [place.node for place in tree.of_kind("value", "truth") if _lendable(place.node)]


def swap_operator(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """Another operator of the same family."""
    place = _choose(rng, [p for p in tree.of_kind("operator") if type(p.node) in _OTHERS])
    if place is None:
        return None
    new = rng.choice(_OTHERS[type(place.node)])()
    return tree.replace(place, new), f"{_sign(place.node)} -> {_sign(new)}"


def change_constant(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A number one off, scaled or negated."""
    place = _choose(rng, [p for p in tree.of_kind("value") if isinstance(p.node, cst.Integer | cst.Float)])
    if place is None:
        return None
    integer = isinstance(place.node, cst.Integer)
    old = float(place.node.evaluated_value)
    choices = (
        [old + 1, old - 1, old * 2, -old]
        if integer
        else [old * 2, old / 2, old * 1.2, old * 0.8, -old, old + 1]
    )
    value = Literal(0, 0, old, integer, "").fit(rng.choice(choices) if abs(old) < 1e15 else old)
    new = number(value, integer)
    return tree.replace(place, new), f"{place.node.value} -> {code(new)}"


def borrow(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """An expression from elsewhere in place of another."""
    place = _choose(rng, [p for p in tree.of_kind("value", "truth") if _lendable(p.node)])
    new = place and _loan(tree, place, rng, stock)
    if place is None or new is None:
        return None
    return tree.replace(place, bracketed(new)), f"{code(place.node)} -> {code(new)}"


def combine(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """An expression joined with another one by an arithmetic operator."""
    place = _numeric(tree, rng)
    other = place and (
        _loan(tree, place, rng, stock) if rng.random() < 0.7 else number(rng.choice((0.1, 0.5, 2.0)), False)
    )
    if place is None or other is None:
        return None
    operator = rng.choice(_ARITHMETIC)()
    new = cst.BinaryOperation(bracketed(place.node), operator, bracketed(other))
    return tree.replace(place, bracketed(new)), f"{code(place.node)} -> {code(new)}"


def wrap(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """An expression inside abs, min, max or a minus."""
    place = _numeric(tree, rng)
    if place is None:
        return None
    how = rng.choice(("abs", "min", "max", "-"))
    arguments = [place.node]
    if how in ("min", "max"):
        other = _loan(tree, place, rng, stock)
        if other is None:
            return None
        arguments.append(other)
    if how == "-":
        new: Any = cst.UnaryOperation(cst.Minus(), bracketed(place.node))
    else:
        new = cst.Call(cst.Name(how), [cst.Arg(argument) for argument in arguments])
    return tree.replace(place, bracketed(new)), f"{code(place.node)} -> {code(new)}"


def hoist(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """An operation replaced by one of its operands."""
    operations = (cst.BinaryOperation, cst.BooleanOperation)
    place = _choose(rng, [p for p in tree.of_kind("value", "truth") if isinstance(p.node, operations)])
    if place is None:
        return None
    new = place.node.left if rng.random() < 0.5 else place.node.right
    return tree.replace(place, bracketed(new)), f"{code(place.node)} -> {code(new)}"


def choose_between(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """An expression that becomes another one under a condition."""
    place = _numeric(tree, rng)
    if place is None:
        return None
    test, other = condition(tree, place, rng, stock), _loan(tree, place, rng, stock)
    if test is None or other is None:
        return None
    new = cst.IfExp(bracketed(test), bracketed(place.node), bracketed(other))
    return tree.replace(place, bracketed(new)), f"{code(place.node)} -> {code(new)}"


def swap_arguments(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """Two positional arguments of a call the other way round."""
    calls = [p for p in tree.of_kind("call") if len(_positional(p.node)) > 1]
    place = _choose(rng, calls)
    if place is None:
        return None
    first, second = sorted(rng.sample(_positional(place.node), 2))
    args = list(place.node.args)
    one, two = args[first].value, args[second].value
    args[first], args[second] = args[first].with_changes(value=two), args[second].with_changes(value=one)
    new = place.node.with_changes(args=args)
    return tree.replace(place, new), f"{code(place.node)} -> {code(new)}"


def negate(tree: SyntaxTree, rng: random.Random, stock: Stock) -> Edit | None:
    """A condition turned round."""
    place = _choose(rng, tree.of_kind("truth"))
    if place is None:
        return None
    node = place.node
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        new: Any = bracketed(node.expression)
    else:
        new = bracketed(cst.UnaryOperation(cst.Not(), bracketed(node)))
    return tree.replace(place, new), f"{code(node)} -> {code(new)}"


def number(value: float, integer: bool) -> Any:
    """A number as an expression, negative ones in brackets."""
    kind: Any = cst.Integer if integer else cst.Float
    text = str(int(abs(value))) if integer else repr(abs(value))
    return bracketed(cst.UnaryOperation(cst.Minus(), kind(text))) if value < 0 else kind(text)


def bracketed(node: Any) -> Any:
    """The expression in brackets, if it is one that could be read together with what stands beside it."""
    if not isinstance(node, _COMPOUND) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def code(node: Any) -> str:
    """The text of a node on one short line."""
    text = " ".join(cst.Module([]).code_for_node(node).split())
    return text if len(text) <= 40 else text[:37] + "…"


def condition(tree: SyntaxTree, place: Place, rng: random.Random, stock: Stock) -> Any | None:
    """A comparison that can be asked at a place: borrowed, or made of two borrowed values."""
    truths = [n for n in stock if isinstance(n, cst.Comparison) and tree.visible(place, names_in(n))]
    if truths and rng.random() < 0.6:
        return rng.choice(truths)
    left, right = _loan(tree, place, rng, stock, _NUMERIC), _loan(tree, place, rng, stock, _NUMERIC)
    if left is None or right is None or code(left) == code(right):
        return None
    target = cst.ComparisonTarget(rng.choice((cst.LessThan, cst.GreaterThan))(), bracketed(right))
    return cst.Comparison(bracketed(left), [target])


def _choose(rng: random.Random, places: list[Place]) -> Place | None:
    return rng.choice(places) if places else None


def _numeric(tree: SyntaxTree, rng: random.Random) -> Place | None:
    return _choose(
        rng, [p for p in tree.of_kind("value") if isinstance(p.node, _NUMERIC) or _is_call(p.node)]
    )


def _is_call(node: Any) -> bool:
    return isinstance(node, cst.Call)


def _loan(
    tree: SyntaxTree, place: Place, rng: random.Random, stock: Stock, kinds: tuple[type[Any], ...] = ()
) -> Any | None:
    """A borrowed expression that means something at a place."""
    if not kinds:
        truth = (cst.Comparison, cst.BooleanOperation)
        kinds = (*truth, cst.UnaryOperation) if place.kind == "truth" else (*_NUMERIC, cst.Call, cst.IfExp)
    own = code(place.node)
    for _ in range(8):
        if not stock:
            return None
        node = stock[rng.randrange(len(stock))]
        fits = isinstance(node, kinds) and code(node) != own and tree.visible(place, names_in(node))
        if fits and size_of(node) <= MAX_BORROWED:
            return node
    return None


def _lendable(node: Any) -> bool:
    return isinstance(node, _LENDABLE)


def _positional(call: cst.Call) -> list[int]:
    return [i for i, arg in enumerate(call.args) if arg.keyword is None and not arg.star]


def _sign(node: Any) -> str:
    return cst.Module([]).code_for_node(node).strip()
