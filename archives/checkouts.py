"""Clean folders that move from candidate to candidate.

*What it must do.* After a move a folder holds exactly the files of a tree, whatever the last evaluation
did to it: changed, added, hidden from `git status`, made unreadable, turned into links that point
elsewhere. Nothing may be written outside the folder. And it must be cheap, since it happens before every
evaluation.

*Options.* A fresh checkout costs seconds for a large repository. ``git checkout`` plus ``git clean``
runs filters and converts line ends, and trusts an index that lies in reach of the candidate and compares
size and time of change, which a candidate can set. Overlays need a file system and privileges that are
not always there. Hard links are changed for everyone by who edits in place.

*Choice.* Each slot remembers, in memory only, what it wrote: for each file the object, the mode and what
`lstat` said. A move walks the folder once, removes everything that is unknown or whose `lstat` differs
in anything, and then writes what the tree has and the folder lacks, byte by byte from the store. A
candidate can set back the time of modification but not that of the inode's change, with one gap: a
change within the same tick of the clock as our own writing. So each move ends by having the file system
stamp the slot itself; only files with an older stamp are taken by their `lstat`, the others are read
again next time. A file that differs is written anew only if it has no other name and is open nowhere, else
replaced, so no hard link or open descriptor sees the new one.

A new `Slot` trusts nothing in a folder that exists and starts anew, which is also what a failed move
leads to.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from archives import folders, trees
from archives.errors import StoreError
from archives.plans import Hidden, Plan
from archives.store import Store
from archives.trees import Entry

_FOLDER_MODE = 0o755

Stamp = tuple[int, int, int, int, int, int]
"""Type and permissions, size, times of modification and change in ns, inode, device."""


class Checkouts:
    """The slots of a campaign, in one folder."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.folder = folder
        self._store = store
        self._slots: dict[int, Slot] = {}

    def slot(self, number: int) -> Slot:
        """The slot with this number, always the same object."""
        if number not in self._slots:
            self._slots[number] = Slot(self._store, self.folder / f"slot-{number:03d}")
        return self._slots[number]


class Slot:
    """One checkout. To be used by one thread at a time, and moved only while no process of a candidate lives.

    The folder itself stays the same inode from move to move, so that it may stay mounted in a sandbox.

    Attributes:
        path: The folder.
    """

    def __init__(self, store: Store, path: Path) -> None:
        self.path = path
        self._store = store
        self._plan: Plan | None = None
        self._hidden: Hidden | None = None
        self._written: _Written | None = None
        self._stamped = 0

    def move_to(self, tree: str, hidden: Hidden | None = None) -> None:
        """Makes the folder hold exactly the files of a tree.

        Bytes are those of the store: no filter, no conversion of line ends. Links and executables are kept. A
        submodule is an empty folder.

        Args:
            tree: Tree or commit.
            hidden: Whether a path shall be left out. It must always give the same answer for a path; handing
                over the same function saves its calls for folders that did not change.

        Raises:
            StoreError: The disk is full, something is mounted in the folder, or a file cannot be removed.
        """
        plan = self._plan_for(tree, hidden)
        with self._moving() as parent:
            folders.refuse_mounts(self.path)
            root = self._open_root(parent)
            try:
                written = self._written or _Written()
                self._clean(root, plan, written)
                self._fill(root, plan, written)
                os.utime(root)
                self._written, self._stamped = written, os.fstat(root).st_ctime_ns
            finally:
                os.close(root)

    def discard(self) -> None:
        """Removes the folder."""
        self._written = None
        if not os.path.lexists(self.path):
            return
        with self._moving() as parent:
            folders.refuse_mounts(self.path)
            is_folder = stat.S_ISDIR(self.path.lstat().st_mode)
            folders.remove(self.path.name, parent, is_folder)

    @contextmanager
    def _moving(self) -> Iterator[int]:
        """Hands out the folder above; after a failure nothing is trusted any more."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            parent = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield parent
            finally:
                os.close(parent)
        except BaseException as error:
            self._written = None
            if isinstance(error, OSError):
                raise StoreError(f"the checkout {self.path} cannot be prepared: {error}") from error
            raise

    def _open_root(self, parent: int) -> int:
        name = self.path.name
        try:
            return folders.open_folder(name, parent)
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            os.unlink(name, dir_fd=parent)
        os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
        return folders.open_folder(name, parent)

    def _plan_for(self, tree: str, hidden: Hidden | None) -> Plan:
        known = self._plan if hidden == self._hidden else None
        self._plan = self._store.plan(tree, hidden, known)
        self._hidden = hidden
        return self._plan

    def _clean(self, folder: int, plan: Plan, written: _Written) -> None:
        """Removes what does not belong, and forgets what is gone."""
        if stat.S_IMODE(os.fstat(folder).st_mode) != _FOLDER_MODE:
            os.fchmod(folder, _FOLDER_MODE)
        files: dict[bytes, tuple[Entry, Stamp]] = {}
        below: dict[bytes, _Written] = {}
        with os.scandir(folder) as entries:
            found = list(entries)
        for item in found:
            name = os.fsencode(item.name)
            wanted, known = plan.files.get(name), written.files.get(name)
            if wanted and known and known[0] == wanted and self._is_intact(folder, item, name, known):
                files[name] = known
                continue
            if wanted and wanted[0] != trees.LINK_MODE and item.is_file(follow_symlinks=False):
                continue  # to be written anew
            is_folder = item.is_dir(follow_symlinks=False)
            if is_folder and name in plan.folders and name in written.folders:
                below[name] = written.folders[name]
                self._clean_below(folder, name, plan.folders[name], below[name])
            else:
                folders.remove(name, folder, is_folder)
        written.files, written.folders = files, below
        written.complete = (
            len(files) == len(plan.files)
            and len(below) == len(plan.folders)
            and all(inner.complete for inner in below.values())
        )

    def _clean_below(self, folder: int, name: bytes, plan: Plan, written: _Written) -> None:
        inner = folders.open_folder(name, folder)
        try:
            self._clean(inner, plan, written)
        finally:
            os.close(inner)

    def _is_intact(
        self, folder: int, item: os.DirEntry[str], name: bytes, known: tuple[Entry, Stamp]
    ) -> bool:
        """Whether an entry is what was written; one that may have changed within a clock tick is read."""
        entry, stamp = known
        if _stamp(item.stat(follow_symlinks=False)) != stamp:
            return False
        if stamp[3] < self._stamped:
            return True
        if entry[0] == trees.LINK_MODE:
            data = os.readlink(name, dir_fd=folder)
        else:
            data = folders.read_file(name, folder)
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest() == entry[1]

    def _fill(self, folder: int, plan: Plan, written: _Written) -> None:
        """Writes what is missing; only folders that lack something are opened."""
        if written.complete:
            return
        for name, entry in plan.files.items():
            if name not in written.files:
                written.files[name] = (entry, _stamp(self._write(folder, name, entry)))
        for name, below in plan.folders.items():
            known = written.folders.get(name)
            if known is None:
                os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
            elif known.complete:
                continue
            inner = folders.open_folder(name, folder)
            try:
                if known is None:
                    os.fchmod(inner, _FOLDER_MODE)
                    known = written.folders[name] = _Written()
                self._fill(inner, below, known)
            finally:
                os.close(inner)

    def _write(self, folder: int, name: bytes, entry: Entry) -> os.stat_result:
        mode, oid = entry
        data = self._store.blob(oid.hex())
        if mode != trees.LINK_MODE:
            executable = bool(trees.file_mode(mode) & 0o100)
            if renewed := folders.renew_file(name, folder, data, executable):
                return renewed
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            return folders.write_file(name, folder, data, executable)
        try:
            os.symlink(data, name, dir_fd=folder)
        except ValueError as error:
            raise OSError(f"link {trees.decode(name)!r}: {error}") from error
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


@dataclass(slots=True)
class _Written:
    """What a slot knows of a folder it wrote."""

    files: dict[bytes, tuple[Entry, Stamp]] = field(default_factory=dict)
    folders: dict[bytes, _Written] = field(default_factory=dict)
    complete: bool = False


def _stamp(status: os.stat_result) -> Stamp:
    return (
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )
