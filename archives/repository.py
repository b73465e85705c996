"""The user's repository: read, never changed, except for the one branch that an export is asked to write.

Finding, resolving and the dirty check start git once or twice and import nothing heavy, since every
command of the user begins with them. What runs here is plumbing: it fires no hook but the ones of
references, which are off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archives.diagnosis import Finding, diagnose
from archives.errors import RepositoryError
from archives.founding import BASE
from archives.git import Git, GitError, copy_objects, discover, text

if TYPE_CHECKING:
    from archives.store import Store

_NOTHING = "0" * 40
_FACTS = (
    "rev-parse",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--show-object-format",
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository with a working tree.

    Attributes:
        root: The working tree.
        git_dir: The Git directory of this working tree.
        common_dir: The Git directory shared by all working trees; the same unless this is a linked one.
    """

    root: Path
    git_dir: Path
    common_dir: Path

    @classmethod
    def find(cls, start: Path) -> Repository:
        """Finds the repository that a folder belongs to.

        Raises:
            RepositoryError: There is none, or one that cannot be used.
        """
        folder = start.resolve()
        if not folder.is_dir():
            raise RepositoryError(f"{start} is no folder; start in a Git repository or name one")
        try:
            facts = discover(folder, *_FACTS).splitlines()
        except GitError:
            raise RepositoryError(
                f"{folder} lies in no Git repository; start in one, or make one: git init"
            ) from None
        if len(facts) != 5:
            raise RepositoryError(f"{folder!s:.99} has a line break in its path, which is not supported")
        git_dir, common_dir, bare, inside, kind = facts
        if bare == "true":
            raise RepositoryError(f"{git_dir} is a bare repository; clone it and start in the clone")
        if inside != "true":
            raise RepositoryError(f"{folder} lies inside a Git directory; start in the working tree")
        if kind != "sha1":
            raise RepositoryError(f"{git_dir} names objects by {kind.upper()}, which is not supported yet")
        root = discover(folder, "rev-parse", "--path-format=absolute", "--show-toplevel").removesuffix("\n")
        return cls(Path(root), Path(git_dir), Path(common_dir))

    def resolve(self, revision: str) -> str:
        """The full hash of the commit that a revision names.

        Raises:
            RepositoryError: There is no such commit.
        """
        name = f"{revision}^{{commit}}"
        try:
            return text(self._git().run("rev-parse", "--verify", "--quiet", "--end-of-options", name)).strip()
        except (GitError, ValueError):
            if revision == "HEAD":
                raise RepositoryError(f"{self.root} has no commit yet; commit something first") from None
            raise RepositoryError(f"{revision!r} names no commit in {self.root}; see `git log`") from None

    def is_dirty(self) -> bool:
        """Whether tracked files or the index differ from HEAD. Runs no filter, leaves the index as it is."""
        git = self._git(self._filters_off())
        options = ("--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
        try:
            return git.run("status", *options) != b""
        except GitError as error:
            raise RepositoryError(f"the state of {self.root} cannot be read: {error}") from error

    def diagnose(self, revision: str) -> list[Finding]:
        """What may surprise in this repository, most serious first."""
        commit = self.resolve(revision)
        return diagnose(self._git(), self.common_dir, commit, self.is_dirty())

    def export_branch(self, store: Store, commit: str, branch: str, force: bool = False) -> None:
        """Makes a branch of a candidate's commit. HEAD, index, files and all else stay; no hook runs.

        Args:
            store: The campaign's store.
            commit: Commit in the store.
            branch: Name of the branch.
            force: Whether an existing branch may be moved.

        Raises:
            RepositoryError: The name is no branch's, or the branch is checked out, or exists without `force`.
        """
        git = self._git()
        reference = f"refs/heads/{branch}"
        try:
            old = self._check_branch(git, branch, commit, force)
            if old != commit:
                _bring(Git(store.path), git, commit)
                why = f"evolve: export {commit[:12]}"
                git.run("update-ref", "--no-deref", "-m", why, reference, commit, old or _NOTHING)
        except GitError as error:
            raise RepositoryError(f"branch {branch!r} cannot be written in {self.root}: {error}") from error

    def _check_branch(self, git: Git, branch: str, commit: str, force: bool) -> str | None:
        """Returns where the branch is now, if it may be written."""
        reference = f"refs/heads/{branch}"
        if not _is_branch_name(git, branch):
            raise RepositoryError(f"{branch!r} is not a name that a branch can have")
        for head, place in _branches_in_use(git, self.common_dir):
            if head == reference:
                raise RepositoryError(f"branch {branch!r} is in use at {place}; choose another name")
        for line in git.lines("for-each-ref", "--format=%(refname) %(objectname) %(symref)", reference):
            name, old, alias = line.split(" ")
            if name != reference:
                continue
            if alias:
                raise RepositoryError(f"branch {branch!r} is an alias of {alias}; choose another name")
            if old != commit and not force:
                raise RepositoryError(f"branch {branch!r} exists; choose another name or add --force")
            return old
        return None

    def _git(self, config: Mapping[str, str] | None = None) -> Git:
        return Git(self.git_dir, self.root, config or {})

    def _filters_off(self) -> dict[str, str]:
        """Configuration under which no filter of this repository has anything to run."""
        try:
            names = self._git().run("config", "--name-only", "-z", "--get-regexp", r"^filter\.").split(b"\0")
        except GitError:
            return {}
        filters = sorted({text(name).rpartition(".")[0] for name in names if name})
        off = {"clean": "", "smudge": "", "process": "", "required": "false"}
        return {f"{name}.{key}": value for name in filters for key, value in off.items()}


def _is_branch_name(git: Git, branch: str) -> bool:
    if branch.startswith("-") or branch == "HEAD" or "\0" in branch:
        return False
    try:
        git.run("check-ref-format", f"refs/heads/{branch}")
    except GitError:
        return False
    return True


def _branches_in_use(git: Git, common_dir: Path) -> Iterator[tuple[str, str]]:
    """Branches that some working tree has checked out, or comes back to after a rebase or bisection."""
    place = ""
    for line in git.lines("worktree", "list", "--porcelain"):
        key, _, value = line.partition(" ")
        if key == "worktree":
            place = value
        elif key == "branch":
            yield value, place
    for folder in (common_dir, *sorted(common_dir.glob("worktrees/*"))):
        for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
            with suppress(OSError):
                head = (folder / name).read_text("utf-8", "surrogateescape").strip()
                yield head if head.startswith("refs/") else f"refs/heads/{head}", str(folder / name)


def _bring(store: Git, target: Git, commit: str) -> None:
    """Brings a commit and what it is made of, down to the base, which the user's repository has."""
    base = text(store.run("rev-parse", "--verify", BASE)).strip()
    try:
        target.run("cat-file", "-e", f"{base}^{{commit}}")
    except GitError:
        raise RepositoryError(
            f"{target.git_dir} no longer has commit {base[:12]}, from which the campaign started; "
            "fetch it, or export a patch"
        ) from None
    names = store.run("rev-list", "--objects", commit, "--not", base)
    if names:
        copy_objects(store, target, names)
