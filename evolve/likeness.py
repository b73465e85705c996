"""Candidates that are the same program written differently: other layout, comments, docstrings, local names.

A model is often paid for a change that is none. Comparing texts does not show it, comparing syntax trees
needs a rule for each kind of node. CPython's compiler knows all of them: in its code objects layout and
comments are gone, and local variables are numbers. So the fingerprint of a Python file is a hash of its code
objects, docstrings and positions taken out; of any other file, of one that does not compile here and of one
that looks at its own names, text or frames (`locals`, `inspect`, `__doc__`, …) it is a hash of its bytes.
That of a tree is a hash of those of the files in which it differs from the base. Equal fingerprints mean
equal behaviour; equal behaviour need not mean equal fingerprints.

Only what models make is compared, with what models were shown and have made: what the offline operators do
is never written differently only. Fingerprints hold within one version of CPython and say which one.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import warnings
from collections.abc import Iterable
from types import CodeType

from archives import syntax
from archives.remembered import Remembered
from archives.store import Store

LARGEST = 2**19
"""Bytes of a file beyond which its text is compared."""
LOOKS_AT_ITSELF = frozenset(
    {"__annotations__", "__code__", "__doc__", "_getframe", "currentframe", "dir", "eval", "exec", "getdoc"}
    | {"getsource", "getsourcelines", "globals", "inspect", "linecache", "locals", "traceback", "vars"}
)
"""Names by which a program can come to know how it is written."""


class Likenesses:
    """Fingerprints of trees, and which candidate had one first.

    Args:
        store: Where the trees are.
        base: The tree that others are compared with.
    """

    def __init__(self, store: Store, base: str) -> None:
        self._store = store
        self._base = base
        self._files: Remembered[tuple[bool, bytes], str] = Remembered(4096)
        self._trees: Remembered[str, str] = Remembered(4096)
        self._first: dict[str, str] = {}

    def of(self, tree: str) -> str:
        """The fingerprint of a tree."""
        known = self._trees.get(tree)
        if known is None:
            digest = hashlib.sha256()
            for path in self._store.changed_paths(self._base, tree):
                data = self._store.read(tree, path)
                origin = self._store.read(self._base, path)
                mine, before = self._file(path, data), self._file(path, origin)
                if mine != before:
                    digest.update(f"{path}\0{mine}\0".encode("utf-8", "surrogateescape"))
            known = f"{sys.implementation.cache_tag}:{digest.hexdigest()[:32]}"
            self._trees.put(tree, known)
        return known

    def _file(self, path: str, data: bytes | None) -> str:
        if data is None:
            return "none"
        python = path.endswith(".py")
        key = (python, hashlib.sha256(data).digest())
        known = self._files.get(key)
        if known is None:
            normal = program(data) if python else None
            known = normal or hashlib.sha256(data).hexdigest()
            self._files.put(key, known)
        return known

    def first(self, fingerprint: str) -> str | None:
        """The candidate that had this fingerprint first."""
        return self._first.get(fingerprint)

    def add(self, fingerprint: str, candidate: str) -> None:
        """Know of a candidate."""
        self._first.setdefault(fingerprint, candidate)

    def see(self, candidates: Iterable[str]) -> None:
        """Know of candidates that a model is shown."""
        for candidate in candidates:
            self.add(self.of(candidate), candidate)


_PLACED = (ast.stmt, ast.expr, ast.excepthandler, ast.arg, ast.keyword, ast.alias, ast.pattern)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def program(data: bytes) -> str | None:
    """A hash of what a Python file does; None where that cannot be told apart from how it is written."""
    if len(data) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = syntax.compiled(_plain(syntax.parse(data)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    digest = hashlib.sha256()
    return digest.hexdigest() if _take(code, digest) else None


def _plain(module: ast.Module) -> ast.Module:
    """The module without docstrings, all on one line, since the compiler marks some lines of their own."""
    for node in ast.walk(module):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass(lineno=1, col_offset=0)]
        if isinstance(node, _PLACED):
            node.lineno = node.end_lineno = 1
    return module


def _take(code: CodeType, digest: hashlib._Hash) -> bool:
    """Take in a code object; False if it looks at itself."""
    if LOOKS_AT_ITSELF.intersection(code.co_names):
        return False
    named = code.co_argcount + code.co_kwonlyargcount
    parts = (
        code.co_name,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_nlocals,
        code.co_varnames[:named],
        len(code.co_cellvars),
        len(code.co_freevars),
        code.co_names,
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
    )
    digest.update(repr(parts).encode("utf-8", "surrogatepass"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if not _take(constant, digest):
                return False
        else:
            digest.update(_spelt(constant).encode("utf-8", "surrogatepass"))
    return True


def _spelt(constant: object) -> str:
    """A constant with its type; sets in an order that is the same in every process."""
    if isinstance(constant, tuple):
        return f"({','.join(map(_spelt, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{','.join(sorted(map(_spelt, constant)))}}}"
    return f"{type(constant).__name__}:{constant!r};"
