"""The campaign's Git store: a bare repository that stands on its own.

*What it must do.* Turn small edits into commits, thousands an hour and in parallel; name each by a hash
that the same seed gives again; survive being killed at any moment; run nothing that the user's
repository configures.

*Options.* Branches and worktrees of the user's repository: they race, leave locks and registrations
behind when killed, start hooks and filters, and clutter what the user sees. A clone or an alternate: it
brings configuration along, or breaks when the user's side is pruned. Porcelain commits: 10 ms each and
an index per writer.

*Choice.* A bare repository of our own that holds exactly one commit of the user's, taken over object by
object and marked as shallow, so that it keeps its own hash without its history. Candidates are written
as loose objects straight along the changed path (no index, no working tree), then get one ref each, so
that no pruning can touch them and no two writers ever meet on a ref. The order is objects, commit, ref:
what has a ref is complete. The champion is the one ref that moves, by compare-and-swap. When to pack is
the caller's choice; packing never prunes.

*Locks.* Git's own lock files outlive a killed process; `store-refs` and `store-objects` do not (see
`archives.locks`). So once the owner of the campaign has these two, `recover` may remove what git left
behind.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from archives import founding, trees
from archives.errors import StoreError
from archives.git import Git, GitError, text
from archives.locks import locked
from archives.objects import Objects, refusals
from archives.plans import Hidden, Plan, plan
from archives.remembered import Remembered
from archives.sketches import sketch

CHAMPION = "refs/heads/champion"
_NOTHING = "0" * 40
_PATCHING = "patching-"
_SKETCHED = 4 * 2**20
"""Characters of sketches that are kept, since who inspires one proposal inspires the next."""
_SPARE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_DIFF_OPTIONS = ("-r", "-p", "-M", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file, link (0o120000) or submodule (0o160000) in a tree."""

    path: str
    oid: str
    mode: int


@dataclass(frozen=True, slots=True)
class Merge:
    """Result of a three-way merge; `tree` is None when there are conflicts."""

    tree: str | None
    conflicts: tuple[str, ...]


class Store:
    """The Git store of one campaign; may be used by several threads.

    Trees may be given by their own hash or by that of a commit.
    """

    def __init__(self, path: Path) -> None:
        """Opens a store.

        Raises:
            StoreError: There is none at `path`.
        """
        if not (path / "HEAD").is_file():
            raise StoreError(f"there is no campaign store at {path}; start a campaign with `evolve run`")
        self.path = path
        self._objects = Objects(path)
        self._sketches: Remembered[tuple[bytes, bytes], str] = Remembered(_SKETCHED, len)
        self._git = Git(path)
        with refusals(path):
            _ = self._objects.repository

    @classmethod
    def create(cls, path: Path, source: Path, base: str) -> Store:
        """Makes a store that holds one commit of another repository, or opens the one that is there.

        Args:
            path: Where the store shall be.
            source: Git directory of the user's repository.
            base: Full hash of the commit to start from.

        Raises:
            RepositoryError: The commit cannot be taken over.
            StoreError: The store holds another base.
        """
        founding.found(path, Git(source), base)
        return cls(path)

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        with refusals(self.path):
            return self._objects.tree(commit).hex()

    def time_of(self, commit: str) -> int:
        """When a commit was made, in seconds since 1970."""
        with refusals(self.path):
            return int(self._objects.repository[commit].peel(pygit2.Commit).commit_time)

    def files(self, tree: str) -> list[FileEntry]:
        """All files, links and submodules of a tree, sorted by path."""
        with refusals(self.path):
            found = [
                FileEntry(trees.decode(path), oid.hex(), trees.file_mode(mode))
                for path, (mode, oid) in self._objects.walk(self._objects.tree(tree))
            ]
        return sorted(found, key=lambda entry: entry.path)

    def read(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file; None where there is no file, but nothing, a link or a folder."""
        with refusals(self.path):
            entry = self._objects.entry(self._objects.tree(tree), trees.encode(path))
            if entry is None or entry[0] in trees.FOLDER_MODES | {trees.LINK_MODE, trees.MODULE_MODE}:
                return None
            return self._objects.read(entry[1], ObjectType.BLOB)

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob."""
        with refusals(self.path):
            return self._objects.read(bytes.fromhex(oid), ObjectType.BLOB)

    def write_tree(self, base: str, changes: Mapping[str, bytes | None]) -> str:
        """Writes a tree that differs from `base` in some files.

        Args:
            base: Tree to start from.
            changes: New bytes by path, or None to delete. An existing file keeps its mode, a new one is not
                executable, a folder without files vanishes.

        Raises:
            StoreError: A path leads out of the tree, into ``.git`` or through a link, or a folder is there.
        """
        with refusals(self.path):
            return self._objects.rewrite(self._objects.tree(base), changes).hex()

    def commit(
        self, tree: str, parents: Sequence[str], message: str, when: int, namespace: str = "candidates"
    ) -> str:
        """Commits a tree and gives the commit a ref of its own; the same arguments give the same hash.

        Args:
            tree: Tree to commit.
            parents: Commits it comes from.
            message: Subject, body and trailers.
            when: Date, in seconds since 1970.
            namespace: Where below ``refs/evolve/`` the ref goes.
        """
        subject = message.replace("\0", "").encode("utf-8", "replace").decode().strip() + "\n"
        person = f"Evolve <evolve@localhost> {when} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {person}", f"committer {person}", "", subject]
        with refusals(self.path):
            for name in (tree, *parents):
                self._objects.tree(name)  # so that no commit is made of what is not there
            commit = self._objects.write(ObjectType.COMMIT, "\n".join(lines).encode()).hex()
            with locked(self.path / "store-refs", shared=True):
                self._add_ref(f"refs/evolve/{namespace}/{commit[:2]}", commit)
        return commit

    def _add_ref(self, folder: str, commit: str) -> None:
        """Give a commit its ref; one that is there already, from before a kill, says the same."""
        place = f"{self.path}/{folder}/{commit}"
        spare = f"{place}.{threading.get_ident()}.lock"
        try:
            descriptor = os.open(spare, _SPARE, 0o644)
        except FileNotFoundError:
            (self.path / folder).mkdir(parents=True, exist_ok=True)
            descriptor = os.open(spare, _SPARE, 0o644)
        try:
            os.write(descriptor, f"{commit}\n".encode())
        finally:
            os.close(descriptor)
        os.rename(spare, place)  # noqa: PTH104  (a path object costs as much as the call)

    def merge_trees(self, ancestor: str, ours: str, theirs: str) -> Merge:
        """Merges what two trees changed since a third."""
        with refusals(self.path):
            base, one, two = (self._objects.tree(name).hex() for name in (ancestor, ours, theirs))
            repository = self._objects.repository
            index = repository.merge_trees(base, one, two)
            if index.conflicts is None:
                return Merge(str(index.write_tree(repository)), ())
            conflicts = {side.path for sides in index.conflicts for side in sides if side is not None}
        return Merge(None, tuple(sorted(conflicts)))

    def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        """Paths that differ between two trees, sorted; a renamed file is two of them."""
        with refusals(self.path):
            raw = self._objects.differences(self._objects.tree(old), self._objects.tree(new))
            return tuple(sorted({trees.decode(path) for path in raw}))

    def diff(self, old: str, new: str) -> str:
        """The unified diff between two trees, names as they are.

        Bytes that are not UTF-8 become lone surrogates: encode with "surrogateescape" to get the exact patch
        back, with "replace" to print it.
        """
        return text(self.patch(old, new))

    def patch(self, old: str, new: str) -> bytes:
        """The exact diff between two trees, binary files included, for `apply_patch` and ``git apply``."""
        return self._run("diff-tree", *_DIFF_OPTIONS, self.tree_of(old), self.tree_of(new))

    def sketch(self, old: str, new: str) -> str:
        """What `diff` says of texts, to be read only: a tenth of the time, since no process is started."""
        with refusals(self.path):
            before, after = self._objects.tree(old), self._objects.tree(new)
            found = self._sketches.get((before, after))
            if found is None:
                found = sketch(self._objects.repository, before, after)
                self._sketches.put((before, after), found)
        return found

    def apply_patch(self, tree: str, patch: bytes) -> str:
        """Applies a diff to a tree.

        Raises:
            StoreError: It does not apply; the message is git's reason.
        """
        name = self.tree_of(tree)
        with tempfile.TemporaryDirectory(prefix=_PATCHING, dir=self.path) as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._run("read-tree", name, variables=index)
            self._run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, variables=index)
            return text(self._run("write-tree", variables=index)).strip()

    def plan(self, tree: str, hidden: Hidden | None = None, known: Plan | None = None) -> Plan:
        """What a checkout of a tree holds, with what `known` has of it taken over."""
        with refusals(self.path):
            return plan(self._objects, self._objects.tree(tree), hidden, known)

    def champion(self) -> str | None:
        """The commit of the champion."""
        with refusals(self.path):
            reference = self._objects.repository.references.get(CHAMPION)
            return None if reference is None else str(reference.target)

    def move_champion(self, new: str, old: str | None) -> bool:
        """Moves the champion from one commit to another.

        Args:
            new: Commit of the new champion.
            old: Commit it must be at; None when there must be none yet.

        Returns:
            False if the champion was not `old`; nothing has changed then.
        """
        if self.champion() != old:
            return False
        with locked(self.path / "store-refs") as lock:
            try:
                self._git.run("update-ref", CHAMPION, new, old or _NOTHING, hold=(lock,))
            except GitError as error:
                if self.champion() != old:
                    return False
                raise StoreError(f"the champion of {self.path} could not be moved: {error}") from error
        return True

    def commits(self) -> Iterator[str]:
        """All candidates' commits that have a ref, in the order of their hashes."""
        yield from text(
            self._run("for-each-ref", "--format=%(objectname)", "refs/evolve/candidates/")
        ).splitlines()

    def pack(self) -> None:
        """Packs objects and refs, so that the store stays small and quick. Nothing is ever pruned."""
        with locked(self.path / "store-objects") as lock:
            self._run("repack", "-d", "-l", "-q", hold=(lock,))
        with locked(self.path / "store-refs") as lock:
            self._run("pack-refs", "--all", hold=(lock,))

    def check(self) -> list[str]:
        """What is wrong with the store, one line each; nothing if it is sound."""
        try:
            self._git.run("fsck", "--no-dangling", "--no-progress")
        except GitError as error:
            return error.complaints or [str(error)]
        return []

    def recover(self) -> list[str]:
        """Removes what a killed owner left: git's lock files and half-written files.

        Only for who owns the campaign. A git process that outlived the owner is waited for.

        Returns:
            What was removed, relative to the store.

        Raises:
            StoreError: A git process goes on for longer than a minute.
        """
        with (
            locked(self.path / "store-objects", patience=founding.PATIENCE),
            locked(self.path / "store-refs", patience=founding.PATIENCE),
        ):
            return [str(path.relative_to(self.path)) for path in founding.remove_leftovers(self.path)]

    def _run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        hold: Sequence[int] = (),
    ) -> bytes:
        try:
            return self._git.run(*arguments, stdin=stdin, variables=variables, hold=hold)
        except GitError as error:
            command = arguments[0]
            what = (
                "the patch does not apply" if command == "apply" else f"git {command} failed in {self.path}"
            )
            raise StoreError(f"{what}: {error}") from error
