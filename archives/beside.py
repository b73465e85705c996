"""A store beside another one: it sees all objects of the other and keeps its own to itself."""

from __future__ import annotations

from pathlib import Path

import pygit2

from archives.store import Store


def beside(store: Store, folder: Path) -> Store:
    """A store that reads what another holds and writes elsewhere, to try what must leave no trace.

    Args:
        store: The store to read.
        folder: Where the new one shall be; remove it after use.
    """
    pygit2.init_repository(str(folder), bare=True)
    alternates = folder / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{(store.path / 'objects').resolve()}\n", encoding="utf-8")
    return Store(folder)
