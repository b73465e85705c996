"""Numbers of a Python file, with their exact positions."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from archives import syntax
from evolve.operators.literals import MAX_MAGNITUDE, Literal

_STRUCTURAL_CALLS = frozenset({"range", "enumerate", "islice", "sum", "round", "next", "exit", "zeros"})
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Context:
    """What is known of the place on the way down to a number."""

    name: str = ""
    rank: int = 1
    structural: bool = False
    unsigned: bool = False
    power: bool = False


def scan(path: str, data: bytes) -> list[Literal]:
    """The numbers of a Python file, in no particular order; none where it does not parse."""
    body = data.removeprefix(_BOM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax.parse(body.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    starts = [0, *(match.end() for match in _LINE_ENDS.finditer(body))]
    finder = _Finder(data, [len(data) - len(body) + start for start in starts])
    try:
        for statement in tree.body:
            finder.visit(statement, _Context(rank=0))
    except RecursionError:
        return []
    return finder.found


class _Finder:
    """A walk over the tree that knows the way it came."""

    def __init__(self, data: bytes, starts: list[int]) -> None:
        self.data = data
        self.starts = starts
        self.found: list[Literal] = []

    def visit(self, node: ast.AST, context: _Context) -> None:
        """Collect the numbers below a node."""
        if isinstance(node, ast.Constant):
            self._collect(node, node, context)
            return
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and _number(node.operand) is not None
        ):
            before = self.data[self._offset(node) - 1 : self._offset(node)]
            if before.isalnum():
                self._collect(node.operand, node.operand, replace(context, unsigned=True))
            else:
                self._collect(node, node.operand, context)
            return
        for child, inner in _below(node, context):
            self.visit(child, inner)

    def _offset(self, node: ast.expr) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _collect(self, whole: ast.expr, constant: ast.expr, context: _Context) -> None:
        number = _number(constant)
        start = self._offset(whole)
        end = self.starts[(whole.end_lineno or 1) - 1] + (whole.end_col_offset or 0)
        if number is None or not _plain(self.data[start:end]):
            return
        value = number if whole is constant else -number
        integer = isinstance(number, int)
        low = high = None
        if integer and context.power:
            return
        if integer and context.structural:
            if abs(value) < 2:
                return
            low, high = (2.0, None) if value > 0 else (None, -2.0)
        if context.unsigned:
            low, high = max(low or 0.0, 0.0), None
        name = context.name or f"line {whole.lineno}"
        rank = context.rank if integer else 0
        self.found.append(Literal(start, end, float(value), integer, name, rank, low, high))


def _number(node: ast.expr) -> int | float | None:
    """The value of a node that is a number of sensible size; truth values are none."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= MAX_MAGNITUDE else None


def _plain(text: bytes) -> bool:
    """Written in decimal and on one line; masks in hexadecimal are not quantities."""
    return bool(re.fullmatch(rb"-?[ \t]*[0-9_.]+(?:[eE][-+]?[0-9_]+)?", text))


def _below(node: ast.AST, context: _Context) -> Iterator[tuple[ast.AST, _Context]]:
    """The children worth visiting, each with what its place means."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.pattern):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from _function(node)
        return
    if isinstance(node, ast.ClassDef):
        for statement in node.body:
            yield statement, _Context(rank=0)
        return
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        yield from _assignment(node, context)
        return
    if isinstance(node, ast.Tuple | ast.List):
        for number, element in enumerate(node.elts):
            yield element, replace(context, name=f"{context.name}[{number}]" if context.name else "")
        return
    if isinstance(node, ast.Call):
        yield from _call(node, context)
        return
    if isinstance(node, ast.Subscript):
        yield node.value, replace(context, unsigned=True)
        return
    if isinstance(node, ast.BinOp):
        yield from _binary(node, context)
        return
    if isinstance(node, ast.Compare):
        if "version" in ast.unparse(node):
            return
        context = replace(context, name="", structural=True)
    elif isinstance(node, ast.Attribute | ast.Await):
        context = replace(context, unsigned=True)
    elif isinstance(node, ast.UnaryOp):
        context = replace(context, power=False)
    elif isinstance(node, ast.stmt):
        context = _Context(rank=context.rank if isinstance(node, ast.If | ast.Try | ast.With) else 1)
    for child in ast.iter_child_nodes(node):
        yield child, context


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> Iterator[tuple[ast.AST, _Context]]:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    defaults = node.args.defaults
    pairs = [*zip(names[len(names) - len(defaults) :], defaults, strict=True)]
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    pairs += [(arg.arg, default) for arg, default in keywords if default]
    for name, default in pairs:
        yield default, _Context(name=name, rank=0)
    if isinstance(node, ast.Lambda):
        yield node.body, _Context()
        return
    for item in (*node.decorator_list, *node.body):
        yield item, _Context()


def _assignment(
    node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr, context: _Context
) -> Iterator[tuple[ast.AST, _Context]]:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    name = ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""
    if node.value is None or "version" in name.lower():
        return
    structural = isinstance(node, ast.AugAssign)
    yield node.value, _Context(name=name, rank=context.rank, structural=structural)


def _call(node: ast.Call, context: _Context) -> Iterator[tuple[ast.AST, _Context]]:
    function = node.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    yield function, replace(context, unsigned=True)
    inner = _Context(rank=1, structural=called in _STRUCTURAL_CALLS, name="")
    for argument in node.args:
        yield argument, inner
    for keyword in node.keywords:
        if "version" not in (keyword.arg or ""):
            yield keyword.value, replace(inner, name=keyword.arg or "", rank=0, structural=False)


def _binary(node: ast.BinOp, context: _Context) -> Iterator[tuple[ast.AST, _Context]]:
    if isinstance(node.op, ast.LShift | ast.RShift | ast.BitAnd | ast.BitOr | ast.BitXor):
        return
    power = isinstance(node.op, ast.Pow)
    structural = context.structural or isinstance(node.op, ast.Add | ast.Sub | ast.Mod | ast.FloorDiv)
    inner = replace(context, structural=structural, power=False)
    yield node.left, replace(inner, unsigned=True) if power else inner
    yield node.right, replace(inner, power=power)
