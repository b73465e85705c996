"""What a program changed in a checkout: the difference between a folder and the tree it was made from.

The program is not trusted. Links are never followed, so a folder that it replaced by one that leads elsewhere
counts as deleted and nothing behind it is read; sizes are bounded before anything is read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from archives.errors import StoreError
from archives.store import Store

LARGEST_FILE = 8 * 1024 * 1024
"""Bytes a changed file may have."""
_FILES = (0o100644, 0o100755)


def harvest(
    store: Store,
    tree: str,
    folder: Path,
    editable: Callable[[str], bool],
    hidden: Callable[[str], bool],
) -> dict[str, bytes | None]:
    """Changed files by path, None for a deleted one.

    Everything that the tree has is compared, so a change of a protected file is seen too; of new files, those
    that may be made. What else a program leaves behind, such as caches, is passed over.

    Args:
        store: Store of the tree.
        tree: Tree that the folder held at first.
        folder: The checkout. Nothing may be running in it.
        editable: Whether a path may change.
        hidden: Whether a path was left out of the checkout.

    Raises:
        StoreError: A changed file is larger than `LARGEST_FILE`, or cannot be read.
    """
    known = {e.path: e.oid for e in store.files(tree) if e.mode in _FILES and not hidden(e.path)}
    changes: dict[str, bytes | None] = {}
    seen = set()
    for path, place in _files(folder):
        if path not in known and (not editable(path) or hidden(path)):
            continue
        seen.add(path)
        data = _content(place, path)
        if known.get(path) != _blob(data):
            changes[path] = data
    changes.update(dict.fromkeys(known.keys() - seen))
    return dict(sorted(changes.items()))


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """Regular files, with their path in the tree; a name that no tree can hold is passed over."""
    root = str(folder)
    for top, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            place = os.path.join(top, name)  # noqa: PTH118 - a hundred thousand times
            if stat.S_ISREG(os.lstat(place).st_mode):
                yield place[len(root) + 1 :], place


def _content(place: str, path: str) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_FILE:
        raise StoreError(f"{path} is larger than {LARGEST_FILE >> 20} MiB")
    return data


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
