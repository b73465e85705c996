"""Trees on their way to another machine: the base once and whole, each candidate as what the base lacks.

A candidate differs from the base in a few files, so what it consists of beyond the base is some kilobytes:
the changed blobs and the folders above them. They travel as plain content and are named anew by their hash
where they arrive, so a candidate that was damaged on the way is never taken for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pygit2.enums import ObjectType

from archives import founding, trees
from archives.errors import StoreError
from archives.git import Git
from archives.objects import Objects, refusals
from archives.store import Store

Cargo = list[tuple[bool, bytes]]
"""Objects: whether it is a folder, and its content."""


class Shipping:
    """Where trees are sent from; may be used by several threads.

    Args:
        store: Where they are.
        base: Tree or commit that the receivers have.
    """

    def __init__(self, store: Store, base: str) -> None:
        self._store = store
        self._objects = Objects(store.path)
        with refusals(store.path):
            self._base = self._objects.tree(base)
            self._known = {oid for oid, _ in _below(self._objects, self._base, set())}

    def base(self) -> bytes:
        """The base as a pack, for `receive_base`."""
        names = "".join(f"{oid.hex()}\n" for oid in sorted(self._known))
        return Git(self._store.path).run("pack-objects", "-q", "--stdout", stdin=names.encode("ascii"))

    def cargo(self, tree: str) -> Cargo:
        """What a tree consists of beyond the base, for `receive`."""
        with refusals(self._store.path):
            found = _below(self._objects, self._objects.tree(tree), set(self._known))
            return [(kind == ObjectType.TREE, self._objects.read(oid, kind)) for oid, kind in found]


def receive_base(path: Path, pack: bytes) -> Store:
    """Makes a store of a base that was sent.

    Args:
        path: Where it shall be; nothing may be there.
        pack: What `Shipping.base` gave.
    """
    founding.lay_out(path)
    Git(path).run("index-pack", "--stdin", stdin=pack)
    return Store(path)


def receive(store: Store, cargo: Cargo, tree: str) -> None:
    """Takes in what was sent of a tree.

    Raises:
        StoreError: It is not all of that tree.
    """
    objects = Objects(store.path)
    with refusals(store.path):
        for is_folder, data in cargo:
            objects.repository.write(ObjectType.TREE if is_folder else ObjectType.BLOB, data)
    with refusals(store.path):
        if tree not in objects.repository:
            raise StoreError(f"tree {tree[:12]} did not arrive whole in {store.path}")


def _below(
    objects: Objects, oid: bytes, known: set[bytes], depth: int = 0
) -> Iterator[tuple[bytes, ObjectType]]:
    """A folder and all below it that is not known yet, each object once."""
    if oid in known:
        return
    if depth > trees.MAXIMUM_DEPTH:
        raise StoreError("folders nest too deep to be sent")
    known.add(oid)
    yield oid, ObjectType.TREE
    for mode, entry in objects.listing(oid).values():
        if mode in trees.FOLDER_MODES:
            yield from _below(objects, entry, known, depth + 1)
        elif mode != trees.MODULE_MODE and entry not in known:
            known.add(entry)
            yield entry, ObjectType.BLOB
