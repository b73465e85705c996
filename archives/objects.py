"""Reads and writes the objects of a bare repository: blobs, folders, trees.

pygit2 does the input and output; one repository handle per thread, because libgit2 does not promise that
handles may be shared. Folders are kept parsed, by hash, since neighbouring candidates share nearly all
of them; of files the last ones read or written are kept, since each is asked for by several stages.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, ObjectType, RepositoryOpenFlag

from archives import trees
from archives.errors import StoreError
from archives.remembered import Remembered
from archives.trees import Entry, Listing

_MAXIMUM_CACHED_ENTRIES = 100_000
_OBJECT_CACHE_BYTES = 4 * 2**20
_CONTENT_BYTES = 4 * 2**20
_KNOWN_COMMITS = 8192

# libgit2 keeps up to 256 MB of objects by default, which are kept here as well, and reads the configuration
# of whoever runs it: a broken or unreadable ~/.gitconfig would stop a campaign.
pygit2.settings.cache_max_size(_OBJECT_CACHE_BYTES)
for _level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    pygit2.settings.search_path[_level] = os.devnull

Change = tuple[tuple[bytes, ...], bytes | None]
"""Parts of a path, and its new bytes or None to delete it."""


class Objects:
    """The objects of one bare repository; may be used by several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handles = threading.local()
        self._listings: dict[bytes, Listing] = {}
        self._cached_entries = 0
        self._lock = threading.Lock()
        self._contents: Remembered[bytes, bytes] = Remembered(_CONTENT_BYTES, len)
        self._trees: Remembered[str, bytes] = Remembered(_KNOWN_COMMITS)

    @property
    def repository(self) -> pygit2.Repository:
        """This thread's handle."""
        handle: pygit2.Repository | None = getattr(self._handles, "repository", None)
        if handle is None:
            flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE
            handle = self._handles.repository = pygit2.Repository(str(self.path), flags)
        return handle

    def read(self, oid: bytes, kind: ObjectType) -> bytes:
        """The content of an object of the given kind."""
        known = self._contents.get(oid) if kind == ObjectType.BLOB else None
        if known is not None:
            return known
        key = pygit2.Oid(raw=oid)
        found, data = self.repository.odb.read(key)
        if found != kind:
            raise StoreError(f"{key} in {self.path} is a {found.name.lower()}, not a {kind.name.lower()}")
        if kind == ObjectType.BLOB:
            self._contents.put(oid, data)
        return data

    def write(self, kind: ObjectType, data: bytes) -> bytes:
        """Write an object; the result is its hash."""
        oid: bytes = self.repository.write(kind, data).raw
        if kind == ObjectType.BLOB:
            self._contents.put(oid, data)
        return oid

    def tree(self, name: str) -> bytes:
        """The hash of a tree, named by itself or by a commit that has it."""
        key = pygit2.Oid(hex=name)
        if key.raw in self._listings:
            return key.raw
        known = self._trees.get(name)
        if known is not None:
            return known
        found, data = self.repository.odb.read(key)
        if found == ObjectType.COMMIT:
            tree = bytes.fromhex(data[5:45].decode("ascii"))
            self._trees.put(name, tree)
            return tree
        if found != ObjectType.TREE:
            raise StoreError(f"{name} in {self.path} is neither a commit nor a tree")
        self._keep(key.raw, trees.parse(data))
        return key.raw

    def listing(self, oid: bytes) -> Listing:
        """One folder. The result is shared: read it, do not change it."""
        known = self._listings.get(oid)
        if known is not None:
            return known
        listing = trees.parse(self.read(oid, ObjectType.TREE))
        self._keep(oid, listing)
        return listing

    def _keep(self, oid: bytes, listing: Listing) -> None:
        with self._lock:
            if self._cached_entries > _MAXIMUM_CACHED_ENTRIES:
                self._listings.clear()
                self._cached_entries = 0
            self._listings[oid] = listing
            self._cached_entries += len(listing) + 1

    def walk(self, oid: bytes, prefix: bytes = b"", depth: int = 0) -> Iterator[tuple[bytes, Entry]]:
        """All files, links and submodules below a folder."""
        if depth > trees.MAXIMUM_DEPTH:
            raise StoreError(f"folders nest too deep at {trees.decode(prefix)[:80]!r}…")
        for name, entry in self.listing(oid).items():
            if entry[0] in trees.FOLDER_MODES:
                yield from self.walk(entry[1], prefix + name + b"/", depth + 1)
            else:
                yield prefix + name, entry

    def entry(self, oid: bytes, path: bytes) -> Entry | None:
        """What lies at a path below a folder."""
        entry: Entry | None = (b"40000", oid)
        for part in path.split(b"/"):
            if entry is None or entry[0] not in trees.FOLDER_MODES:
                return None
            entry = self.listing(entry[1]).get(part)
        return entry

    def differences(self, old: bytes | None, new: bytes | None, prefix: bytes = b"") -> Iterator[bytes]:
        """Paths of files that differ between two folders; equal subfolders are not looked into."""
        if old == new:
            return
        before = self.listing(old) if old else {}
        after = self.listing(new) if new else {}
        for name in [*before, *(name for name in after if name not in before)]:
            one, two = before.get(name), after.get(name)
            if one == two:
                continue
            path = prefix + name
            folders = [entry[1] if entry and entry[0] in trees.FOLDER_MODES else None for entry in (one, two)]
            if any((one and not folders[0], two and not folders[1])):
                yield path
            yield from self.differences(folders[0], folders[1], path + b"/")

    def rewrite(self, tree: bytes, changes: Mapping[str, bytes | None]) -> bytes:
        """A tree with other files; only folders along the changed paths are written."""
        pending = [(trees.split(path), content) for path, content in changes.items()]
        return self._rewrite(tree, pending, 0) or self.write(ObjectType.TREE, b"")

    def _rewrite(self, oid: bytes | None, changes: Sequence[Change], depth: int) -> bytes | None:
        old = self.listing(oid) if oid else {}
        listing = dict(old)
        here = [(parts, content) for parts, content in changes if len(parts) == depth + 1]
        below: dict[bytes, list[Change]] = {}
        for parts, content in changes:
            if len(parts) > depth + 1:
                below.setdefault(parts[depth], []).append((parts, content))
        for parts, content in here:
            if content is None:
                _delete(listing, parts)
        for name, inner in below.items():
            self._descend(listing, name, inner, depth)
        for parts, content in here:
            if content is not None:
                mode = _writable_mode(listing, parts)
                listing[parts[-1]] = (mode, self.write(ObjectType.BLOB, content))
        if listing == old:
            return oid
        return self.write(ObjectType.TREE, trees.serialise(listing)) if listing else None

    def _descend(self, listing: Listing, name: bytes, changes: Sequence[Change], depth: int) -> None:
        entry = listing.get(name)
        if entry is not None and entry[0] not in trees.FOLDER_MODES:
            blocked = next((parts for parts, content in changes if content is not None), None)
            if blocked is None:
                return
            obstacle = trees.decode(b"/".join(blocked[: depth + 1]))
            what = "link" if entry[0] == trees.LINK_MODE else "file"
            raise StoreError(f"cannot write {_show(blocked)}: {obstacle!r} is a {what}, not a folder")
        new = self._rewrite(entry[1] if entry else None, changes, depth + 1)
        if new is None:
            listing.pop(name, None)
        elif entry is None or new != entry[1]:
            listing[name] = (b"40000", new)


def _delete(listing: Listing, parts: tuple[bytes, ...]) -> None:
    entry = listing.get(parts[-1])
    if entry is not None and entry[0] in trees.FOLDER_MODES:
        raise StoreError(f"cannot delete {_show(parts)}: it is a folder; delete its files")
    listing.pop(parts[-1], None)


def _writable_mode(listing: Listing, parts: tuple[bytes, ...]) -> bytes:
    mode = listing.get(parts[-1], (trees.FILE_MODE,))[0]
    if mode in trees.FOLDER_MODES:
        raise StoreError(f"cannot write {_show(parts)}: it is a folder")
    if mode == trees.LINK_MODE:
        raise StoreError(f"cannot write through {_show(parts)}: it is a link; write the file it points to")
    if mode == trees.MODULE_MODE:
        raise StoreError(f"cannot write {_show(parts)}: it is a submodule")
    return mode


def _show(parts: tuple[bytes, ...]) -> str:
    return repr(trees.decode(b"/".join(parts)))


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turns what pygit2 raises into a `StoreError` that says which store it was."""
    try:
        yield
    except KeyError as error:
        raise StoreError(f"the store {path} has no object {error.args[0]}") from error
    except (ValueError, OSError, pygit2.GitError) as error:
        raise StoreError(f"the store {path} refused: {error}") from error
