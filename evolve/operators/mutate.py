"""Mutate Python files: small edits of the concrete syntax tree, always of a program that compiles.

The edits are those of genetic improvement (Langdon and Harman 2015: delete, copy, move) and genetic
programming (Koza 1992: subtrees from elsewhere), with the operator and constant changes of mutation
testing. Most proposals carry one edit, some two or three, so that a valley two edits wide can be
crossed.
"""

from __future__ import annotations

import ast
import random
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from archives import syntax
from archives.records import Candidate
from evolve.blocks import outside
from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.operators.literals import MAX_BYTES
from evolve.randomness import rng

if TYPE_CHECKING:
    from evolve.operators.syntaxtree import SyntaxTree

ATTEMPTS = 24
MAX_EDITS = 3
ANOTHER_EDIT = 0.3
"""Chance that one more edit follows."""
MAX_GROWTH = 2.0
SPARE_BYTES = 2000
"""A file may become `MAX_GROWTH` times what it was in the base, and this much more."""
MAX_LENDERS = 4


class Mutate(Stateless):
    """Edits of the syntax tree of one Python file a proposal."""

    name = "mutate"
    is_async = False
    needs: Needs = "parent"

    def __init__(self) -> None:
        self._trees: OrderedDict[str, SyntaxTree | None] = OrderedDict()

    def handles(self, paths: Sequence[str]) -> bool:
        """Python only."""
        return any(path.endswith(".py") for path in paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """One to three edits of one file; drawn again until the result compiles and differs."""
        files = _files(source, order.parent)
        if not files:
            raise Refused("mutate found no Python file that may change")
        for attempt in range(ATTEMPTS):
            draw = rng(order.seed, order.number, f"mutate/{attempt}")
            path = draw.choice(files)
            data = source.store.read(order.parent.id, path) or b""
            tree = self._tree(_text(data))
            if tree is None or not tree.places:
                continue
            stock = self._stock(tree, order, source, path, draw)
            edited = _edit(tree, stock, draw)
            if edited is None:
                continue
            text, words = edited
            new = text.encode()
            base = source.store.read(order.base.id, path) or b""
            if len(new) <= MAX_GROWTH * len(base) + SPARE_BYTES and acceptable(data, new):
                return Draft({path: new}, f"mutate {path}: {'; '.join(words)}"[:200])
        raise Refused(f"mutate found no edit that compiles and differs, {ATTEMPTS} times")

    def _tree(self, text: str | None) -> SyntaxTree | None:
        if text is None:
            return None
        if text in self._trees:
            self._trees.move_to_end(text)
            return self._trees[text]
        from libcst import ParserSyntaxError

        from evolve.operators.syntaxtree import SyntaxTree

        try:
            tree = SyntaxTree.parse(text)
        except (ParserSyntaxError, RecursionError):
            tree = None
        self._trees[text] = tree
        if len(self._trees) > 48:
            self._trees.popitem(last=False)
        return tree

    def _stock(
        self, tree: SyntaxTree, order: Order, source: Source, path: str, draw: random.Random
    ) -> list[Any]:
        """Expressions of this file, and at times of the same file in an inspiration."""
        from evolve.operators.mutations import stock_of

        stock = stock_of(tree)
        if order.inspirations and draw.random() < 0.4:
            lender = draw.choice(order.inspirations[:MAX_LENDERS])
            data = source.store.read(lender.id, path)
            other = self._tree(_text(data)) if data is not None else None
            if other is not None:
                stock += stock_of(other)
        return stock


def acceptable(old: bytes, new: bytes) -> bool:
    """Whether the new file compiles, means something else, and is the same outside marked blocks."""
    if outside(old) != outside(new):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax.parse(new)
            compile(new, "mutated", "exec", dont_inherit=True)
            return ast.dump(tree) != _meaning(old)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


@lru_cache(maxsize=16)
def _meaning(text: bytes) -> str:
    return ast.dump(syntax.parse(text))


def _edit(tree: SyntaxTree, stock: list[Any], draw: random.Random) -> tuple[str, list[str]] | None:
    from evolve.operators.rearrangements import MUTATIONS
    from evolve.operators.syntaxtree import SyntaxTree

    mutations, weights = zip(*MUTATIONS, strict=True)
    words: list[str] = []
    module = tree.module
    while len(words) < MAX_EDITS and (not words or draw.random() < ANOTHER_EDIT):
        tree = SyntaxTree(module) if words else tree
        edit = draw.choices(mutations, weights)[0](tree, draw, stock)
        if edit is None:
            break
        module, what = edit
        words.append(what)
    return (module.code, words) if words else None


def _files(source: Source, parent: Candidate) -> list[str]:
    entries = source.store.files(parent.id)
    plain = [
        entry.path for entry in entries if entry.path.endswith(".py") and entry.mode in (0o100644, 0o100755)
    ]
    return [path for path in plain if source.editable(path)]


def _text(data: bytes) -> str | None:
    if len(data) > MAX_BYTES:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
