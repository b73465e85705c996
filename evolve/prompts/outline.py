"""Outlines of files for the map of a repository: what a file offers, without how it does it.

A Python file is its imports' targets (for relevance, not shown) and its signatures; a Markdown file its
headings; any other file its length. What is known of a file depends on its content alone and is kept by its
hash.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from archives import syntax
from archives.remembered import Remembered
from archives.store import FileEntry, Store
from evolve.quoting import one_line

LONGEST = 60
"""Lines of one outline."""
LARGEST = 2**19
"""Bytes beyond which a file is only named."""
_REGULAR = (0o100644, 0o100755)


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of one file.

    Attributes:
        lines: What it offers, one line each.
        imports: Modules it imports, as dotted names; relative ones begin with dots.
    """

    lines: tuple[str, ...]
    imports: frozenset[str]


class Outlines:
    """Outlines of files, remembered within bounds."""

    def __init__(self) -> None:
        self._known: Remembered[tuple[str, str], Outline] = Remembered(4096)

    def of(self, store: Store, entry: FileEntry) -> Outline:
        """The outline of one file of a tree."""
        kind = entry.path.rpartition(".")[2]
        key = (kind, entry.oid)
        known = self._known.get(key)
        if known is None:
            data = store.blob(entry.oid) if entry.mode in _REGULAR else b""
            known = _outline(kind, data)
            self._known.put(key, known)
        return known


def _outline(kind: str, data: bytes) -> Outline:
    if len(data) > LARGEST or b"\0" in data:
        return Outline((f"{len(data)} bytes",), frozenset())
    text = data.decode("utf-8", "replace")
    if kind in ("py", "pyi"):
        module = _parsed(data)
        if module is not None:
            shown = list(_signatures(module.body, ""))
            return Outline(_cut(shown), frozenset(_imports(module)))
    if kind == "md":
        heads = [one_line(line) for line in text.split("\n") if line.startswith("#")]
        return Outline(_cut(heads), frozenset())
    return Outline((f"{text.count(chr(10)) + 1} lines",), frozenset())


def _parsed(data: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return syntax.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _cut(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - LONGEST
    return tuple(lines) if more <= 0 else (*lines[:LONGEST], f"and {more} more")


def _signatures(body: list[ast.stmt], indent: str) -> list[str]:
    found: list[str] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            head = f"{indent}{word} {node.name}({_arguments(node)}){returns}"
            found.append(one_line_kept(head) + _about(node))
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            found.append(one_line_kept(f"{indent}class {node.name}({bases})") + _about(node))
            found += _signatures(node.body, indent + "    ")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not indent:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [f"{t.id} = …" for t in targets if isinstance(t, ast.Name) and t.id.isupper()]
    return found


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The arguments of a function, long texts among their defaults left out."""
    for default in (*node.args.defaults, *node.args.kw_defaults):
        for part in ast.walk(default) if default is not None else ():
            if (
                isinstance(part, ast.Constant)
                and isinstance(part.value, str | bytes)
                and len(part.value) > 12
            ):
                part.value = "…"
    return ast.unparse(node.args)


def one_line_kept(text: str, limit: int = 160) -> str:
    """One line with the blanks at its beginning kept."""
    blanks = len(text) - len(text.lstrip())
    return " " * blanks + one_line(text, limit)


def _about(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    about = ast.get_docstring(node)
    return f"  # {one_line(about.strip().split(chr(10))[0], 80)}" if about and about.strip() else ""


def _imports(module: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found.add(start)
            joint = "" if start.endswith(".") else "."
            found |= {f"{start}{joint}{name.name}" for name in node.names}
    return found
