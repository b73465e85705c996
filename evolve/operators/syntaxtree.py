"""A Python file as a list of places that can be changed, on libcst's concrete syntax tree.

libcst keeps every byte, but is slow: parsing costs milliseconds a line of dense code, its metadata
providers more than that again, and its transformers visit every node for every change. So a file is
parsed once and remembered (see `mutate`), one plain walk notes for every place how to get there, and a
change copies only the nodes on the way up to the root.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

import libcst as cst

Kind = Literal["value", "truth", "operator", "statement", "call", "if", "loop"]

_VALUE_SLOTS = {
    "Assign": ("value",),
    "AugAssign": ("value",),
    "AnnAssign": ("value",),
    "Return": ("value",),
    "Arg": ("value",),
    "BinaryOperation": ("left", "right"),
    "UnaryOperation": ("expression",),
    "Comparison": ("left",),
    "ComparisonTarget": ("comparator",),
    "IfExp": ("body", "orelse"),
    "Element": ("value",),
    "DictElement": ("value",),
    "Param": ("default",),
    "Lambda": ("body",),
    "GeneratorExp": ("elt",),
    "ListComp": ("elt",),
    "SetComp": ("elt",),
    "DictComp": ("value",),
    "NamedExpr": ("value",),
}
_TRUTH_SLOTS = {
    "If": ("test",),
    "IfExp": ("test",),
    "CompIf": ("test",),
    "BooleanOperation": ("left", "right"),
    "Assert": ("test",),
}
_OPERATOR_SLOTS = {
    "BinaryOperation": "operator",
    "BooleanOperation": "operator",
    "ComparisonTarget": "operator",
    "AugAssign": "operator",
}
_SKIPPED = (
    cst.Import,
    cst.ImportFrom,
    cst.Annotation,
    cst.Decorator,
    cst.FormattedString,
    cst.Match,
    cst.Global,
)
_LAYOUT = frozenset(
    {
        "lpar",
        "rpar",
        "lbracket",
        "rbracket",
        "lbrace",
        "rbrace",
        "comma",
        "semicolon",
        "colon",
        "equal",
        "dot",
    }
    | {
        "trailing_whitespace",
        "indent",
        "star",
        "async_",
        "asynchronous",
        "annotation",
        "returns",
        "decorators",
    }
    | {"encoding", "default_indent", "default_newline", "has_trailing_newline", "quotation_marks"}
)
_ORDER = {
    "leading_lines": -2,
    "header": -1,
    "test": 0,
    "target": 0,
    "iter": 0,
    "for_in": 0,
    "orelse": 3,
    "footer": 9,
}
_BINDERS = (cst.AssignTarget, cst.For, cst.CompFor, cst.AsName, cst.NamedExpr, cst.AnnAssign)
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a way down: the field of a node, and the position in it where that is a sequence."""

    node: Any
    field: str
    index: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """A node that can be changed.

    Attributes:
        node: The node.
        kind: What sort of change it allows.
        way: The way from the module down to it.
        names: Names bound by the functions and comprehensions around it, with where they are first bound.
        order: Position in the walk.
    """

    node: Any
    kind: Kind
    way: tuple[Step, ...]
    names: tuple[dict[str, int], ...]
    order: int


class SyntaxTree:
    """A parsed module and its places."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.places: list[Place] = []
        self.globals: dict[str, int] = {}
        self._count = 0
        self._open = False
        self._marked = "EVOLVE-BLOCK-START" in module.code
        self._walk(module, (), (), self.globals)

    @classmethod
    def parse(cls, text: str) -> SyntaxTree:
        """Parse a module; raises libcst.ParserSyntaxError."""
        return cls(cst.parse_module(text))

    def of_kind(self, *kinds: Kind) -> list[Place]:
        """Places of some kinds in the order of the text."""
        return [place for place in self.places if place.kind in kinds]

    def visible(self, place: Place, names: Sequence[str]) -> bool:
        """Whether all these names mean something at a place."""
        for name in names:
            local = [scope[name] for scope in place.names if name in scope]
            if local and min(local) >= place.order:
                return False
            if not local and name not in self.globals and name not in _BUILTINS:
                return False
        return True

    def replace(self, place: Place, new: Any) -> cst.Module:
        """The module with something else in a place: a node, or a list of statements."""
        for step in reversed(place.way):
            if step.index is None:
                new = step.node.with_changes(**{step.field: new})
                continue
            old = list(getattr(step.node, step.field))
            old[step.index : step.index + 1] = new if isinstance(new, list) else [new]
            new = step.node.with_changes(**{step.field: old})
        assert isinstance(new, cst.Module)
        return new

    def _walk(
        self, node: Any, way: tuple[Step, ...], scopes: tuple[dict[str, int], ...], scope: dict[str, int]
    ) -> None:
        self._count += 1
        self._bind(node, scope)
        if isinstance(node, cst.FunctionDef | cst.Lambda):
            scope = dict.fromkeys(_parameters(node), 0)
            scopes = (*scopes, scope)
        elif isinstance(node, cst.ClassDef):
            scope = {}
        elif isinstance(node, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            scope = {name: 0 for part in _parts(node.for_in) for name in _targets(part)}
            scopes = (*scopes, scope)
        self._note_own(node, way, scopes)
        for field, index, child in _children(node):
            if isinstance(child, cst.EmptyLine):
                self._mark(child)
                continue
            down = (*way, Step(node, field, index))
            self._note_slot(node, field, child, down, scopes)
            if not isinstance(child, _SKIPPED) and not (isinstance(node, cst.Call) and field == "func"):
                self._walk(child, down, scopes, scope)

    def _bind(self, node: Any, scope: dict[str, int]) -> None:
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            scope.setdefault(node.name.value, self._count)
        elif isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if isinstance(small, cst.Import | cst.ImportFrom):
                    for name in _imported(small):
                        scope.setdefault(name, self._count)
        elif isinstance(node, _BINDERS):
            target = node.name if isinstance(node, cst.AsName) else node.target
            for name in names_in(target):
                # What a statement binds is there after it, what a loop binds within it as well.
                scope.setdefault(name, self._count + (0 if isinstance(node, cst.For | cst.CompFor) else 1))

    def _mark(self, line: cst.EmptyLine) -> None:
        comment = line.comment.value if line.comment is not None else ""
        if "EVOLVE-BLOCK-" in comment:
            self._open = "EVOLVE-BLOCK-START" in comment

    def _note_own(self, node: Any, way: tuple[Step, ...], scopes: tuple[dict[str, int], ...]) -> None:
        if isinstance(node, cst.Call) and len(node.args) > 1:
            self._note(node, "call", way, scopes)
        elif isinstance(node, cst.If):
            self._note(node, "if", way, scopes)
        elif isinstance(node, cst.For | cst.While):
            self._note(node, "loop", way, scopes)
        in_body = way and way[-1].field == "body" and way[-1].index is not None
        if (
            in_body
            and isinstance(node, cst.BaseCompoundStatement | cst.SimpleStatementLine)
            and _movable(node)
        ):
            self._note(node, "statement", way, scopes)

    def _note_slot(
        self, node: Any, field: str, child: Any, way: tuple[Step, ...], scopes: tuple[dict[str, int], ...]
    ) -> None:
        kind = type(node).__name__
        if field == _OPERATOR_SLOTS.get(kind):
            self._note(child, "operator", way, scopes)
        elif field in _TRUTH_SLOTS.get(kind, ()):
            self._note(child, "truth", way, scopes)
        elif field in _VALUE_SLOTS.get(kind, ()) and not _is_text(child):
            self._note(child, "value", way, scopes)

    def _note(self, node: Any, kind: Kind, way: tuple[Step, ...], scopes: tuple[dict[str, int], ...]) -> None:
        if self._open or not self._marked:
            self.places.append(Place(node, kind, way, scopes, self._count))


def names_in(node: Any) -> list[str]:
    """The names an expression reads, attributes and keywords left out."""
    if isinstance(node, cst.Name):
        return [node.value]
    if isinstance(node, cst.Attribute):
        return names_in(node.value)
    found: list[str] = []
    for field, _, child in _children(node):
        if not (isinstance(node, cst.Arg) and field == "keyword"):
            found += names_in(child)
    return found


def size_of(node: Any) -> int:
    """How many nodes an expression has, layout left out."""
    return 1 + sum(size_of(child) for _, _, child in _children(node))


def _children(node: Any) -> Iterator[tuple[str, int | None, Any]]:
    """The nodes below one, in the order of the text as far as marker comments and bindings need it."""
    for name in _fields(node.__class__):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield name, None, value
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                if isinstance(item, cst.CSTNode):
                    yield name, index, item


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    names = [f.name for f in fields(kind) if not f.name.startswith("whitespace") and f.name not in _LAYOUT]
    return tuple(sorted(names, key=lambda name: _ORDER.get(name, 1)))


def _movable(node: Any) -> bool:
    """Neither an import, a docstring, a definition nor a change of scope."""
    if isinstance(node, cst.SimpleStatementLine):
        return not any(
            isinstance(small, cst.Import | cst.ImportFrom | cst.Global | cst.Nonlocal)
            or (isinstance(small, cst.Expr) and _is_text(small.value))
            for small in node.body
        )
    return isinstance(node, cst.If | cst.For | cst.While)


def _is_text(node: Any) -> bool:
    return isinstance(node, cst.SimpleString | cst.ConcatenatedString | cst.FormattedString)


def _parameters(node: cst.FunctionDef | cst.Lambda) -> list[str]:
    found = node.params
    every = [*found.posonly_params, *found.params, *found.kwonly_params, found.star_arg, found.star_kwarg]
    return [param.name.value for param in every if isinstance(param, cst.Param)]


def _parts(part: cst.CompFor) -> Iterator[cst.CompFor]:
    yield part
    if part.inner_for_in is not None:
        yield from _parts(part.inner_for_in)


def _targets(part: cst.CompFor) -> list[str]:
    return names_in(part.target)


def _imported(node: cst.Import | cst.ImportFrom) -> list[str]:
    if isinstance(node.names, cst.ImportStar):
        return []
    found = []
    for alias in node.names:
        name = alias.asname.name if alias.asname is not None else alias.name
        found += names_in(name)[:1]
    return found
