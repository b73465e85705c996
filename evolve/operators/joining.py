"""Three-way merges of trees: by Git, and by words where Git sees a conflict."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from archives.store import Store
from evolve.operators.merging import merge_text


@dataclass(frozen=True, slots=True)
class Joined:
    """Result of a merge.

    Attributes:
        tree: The merged tree; None where both sides changed the same place differently.
        conflicts: Files in which they did.
        finer: Files that were merged by words.
    """

    tree: str | None
    conflicts: tuple[str, ...] = ()
    finer: tuple[str, ...] = ()


def join(store: Store, ancestor: str, ours: str, theirs: str) -> Joined:
    """Carry what `theirs` changed since `ancestor` over to `ours`.

    Args:
        store: Where the trees are.
        ancestor: Tree from which both sides come.
        ours: Tree to change.
        theirs: Tree whose changes are wanted.
    """
    merge = store.merge_trees(ancestor, ours, theirs)
    if merge.tree is not None:
        return Joined(merge.tree)
    mine = set(store.changed_paths(ancestor, ours))
    changes: dict[str, bytes | None] = {}
    conflicts: list[str] = []
    for path in store.changed_paths(ancestor, theirs):
        new = store.read(theirs, path)
        if path not in mine:
            changes[path] = new
            continue
        old, here = store.read(ancestor, path), store.read(ours, path)
        if here == new:
            continue
        merged = merge_bytes(path, old, here, new)
        if merged is None:
            conflicts.append(path)
        else:
            changes[path] = merged
    if conflicts:
        return Joined(None, tuple(conflicts))
    return Joined(store.write_tree(ours, changes), finer=merge.conflicts)


def merge_bytes(path: str, ancestor: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Both changes of one file; None where they contradict each other or give a Python file with an error."""
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
