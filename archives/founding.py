"""Makes a campaign's store, and cleans it after a kill.

The store is built under another name and renamed when it is whole, so there is either none or a complete
one. The unfinished folder is locked by whoever writes in it, including a git process that outlived its killed
owner, and a new attempt waits for that lock before it clears the folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from archives.errors import RepositoryError, StoreError
from archives.git import Git, GitError, copy_objects
from archives.locks import locked

BASE = "refs/evolve/base"
PATIENCE = 60.0
"""Seconds to wait for a git process that outlived a killed owner."""

_CONFIG = """\
# A campaign of Evolve. Everything is set here so that no other configuration matters.
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogAllRefUpdates = false
\tautocrlf = false
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[merge]
\tdefault = text
\trenameLimit = 1000
"""


def found(path: Path, source: Git, base: str) -> None:
    """Makes a store at `path` with one commit of `source`, unless it is there already."""
    if not re.fullmatch("[0-9a-f]{40}", base):
        raise RepositoryError(f"{base!r} is no full SHA-1 commit hash; SHA-256 is not supported")
    if path.exists():
        _check_base(path, base)
        return
    unfinished = path.with_name(f".{path.name}.unfinished")
    if unfinished.exists():
        with locked(unfinished, patience=PATIENCE):
            shutil.rmtree(unfinished)
    unfinished.mkdir(parents=True)
    with locked(unfinished) as lock:
        lay_out(unfinished)
        _take_over(source, Git(unfinished), base, lock)
        unfinished.rename(path)


def _check_base(path: Path, base: str) -> None:
    try:
        present = Git(path).lines("rev-parse", "--verify", "--quiet", BASE)
    except GitError:
        raise StoreError(f"{path} is no campaign store, or a broken one; move it out of the way") from None
    if present != [base]:
        other = present[0][:12]
        raise StoreError(f"the store {path} starts from {other}, not {base[:12]}; name another campaign")


def lay_out(path: Path) -> None:
    """Makes an empty store; nothing may be at `path`."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (path / folder).mkdir(parents=True)
    (path / "config").write_text(_CONFIG)
    (path / "HEAD").write_text("ref: refs/heads/champion\n")


def _take_over(source: Git, store: Git, base: str, lock: int) -> None:
    try:
        if source.lines("rev-parse", "--show-object-format") != ["sha1"]:
            raise RepositoryError(f"{source.git_dir} uses SHA-256 object names, which are not supported yet")
        names = source.run("rev-list", "--objects", "--no-walk", base)
        copy_objects(source, store, names, hold=(lock,))
        if b"\nparent " in source.run("cat-file", "commit", base).partition(b"\n\n")[0]:
            (store.git_dir / "shallow").write_text(base + "\n")
        store.run("rev-list", "--objects", "--quiet", base)
        store.run("update-ref", BASE, base, hold=(lock,))
    except GitError as error:
        raise RepositoryError(
            f"commit {base[:12]} of {source.git_dir} cannot be taken over: {error}. "
            "If files are missing here (a partial clone), fetch them: git fetch --refetch --no-filter"
        ) from error


def remove_leftovers(path: Path) -> list[Path]:
    """Removes git's lock files and temporary files; nobody may be at work on the store."""
    leftovers = sorted(_leftovers(path))
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)
    return leftovers


def _leftovers(path: Path) -> Iterator[Path]:
    yield from path.glob("*.lock")
    yield from path.glob("packed-refs.new")
    yield from path.glob("gc.pid")
    yield from path.glob("patching-*/*")
    yield from (path / "refs").rglob("*.lock")
    objects = path / "objects"
    for pattern in ("??/tmp_obj*", "pack/tmp_*", "pack/.tmp-*", "tmp_*", "info/*.lock"):
        yield from objects.glob(pattern)
