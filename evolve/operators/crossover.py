"""Crossover: a three-way merge of two lineages in which the changes of both survive."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

from archives.records import Candidate
from evolve.operators.base import Draft, Order, Refused, Source, Stateless
from evolve.operators.merging import merge_text


class Crossover(Stateless):
    """Merges the partner's changes since the common ancestor into the parent."""

    name = "crossover"
    is_async = False
    needs: Literal["parent", "partner", "nothing"] = "partner"

    def handles(self, paths: Sequence[str]) -> bool:
        """Any files can be merged."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Merge by Git first, and what it calls conflicts by words."""
        if order.partner is None or order.ancestor is None:
            raise Refused("crossover needs a second parent with a common ancestor")
        parent, partner = order.parent, order.partner
        merge = source.store.merge_trees(order.ancestor, parent.id, partner.id)
        tree = merge.tree
        finer = ""
        if tree is None:
            tree = _merge_files(order.ancestor, parent, partner, source)
            finer = f"; merged by words: {', '.join(merge.conflicts[:3])}"
        if tree in (parent.id, partner.id, order.ancestor):
            raise Refused("crossover: one parent already holds the changes of the other")
        return Draft(
            tree=tree,
            summary=f"cross {_title(parent)} with {_title(partner)}",
            rationale=f"Merge of {parent.id[:10]} and {partner.id[:10]} over {order.ancestor[:10]}{finer}.",
        )


def _merge_files(ancestor: str, parent: Candidate, partner: Candidate, source: Source) -> str:
    """The parent's tree with the partner's changes, file by file."""
    store = source.store
    ours = set(store.changed_paths(ancestor, parent.id))
    changes: dict[str, bytes | None] = {}
    conflicts: list[str] = []
    for path in store.changed_paths(ancestor, partner.id):
        theirs = store.read(partner.id, path)
        if path not in ours:
            changes[path] = theirs
            continue
        sides = (store.read(ancestor, path), store.read(parent.id, path), theirs)
        if sides[1] == sides[2]:
            continue
        merged = _merge_bytes(path, *sides)
        if merged is None:
            conflicts.append(path)
        else:
            changes[path] = merged
    if conflicts:
        raise Refused(f"crossover: both parents changed the same places of {', '.join(conflicts[:5])}")
    return store.write_tree(parent.id, changes)


def _merge_bytes(path: str, ancestor: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    if ancestor is None or ours is None or theirs is None:
        return None
    try:
        merged = merge_text(ancestor.decode(), ours.decode(), theirs.decode())
    except UnicodeDecodeError:
        return None
    if merged is None or not path.endswith(".py"):
        return None if merged is None else merged.encode()
    return merged.encode() if _compiles(merged) else None


def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "merged", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _title(candidate: Candidate) -> str:
    return f"{candidate.id[:8]} ({candidate.operator})"
