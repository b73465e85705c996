"""Differences between trees for those who only read them, such as models: made by libgit2, without a process.

libgit2 quotes names that are not ASCII and cannot be told not to, so the headers are ours.
"""

from __future__ import annotations

import pygit2

from archives.git import text

_NOTHING = "/dev/null"


def sketch(repository: pygit2.Repository, old: bytes, new: bytes) -> str:
    """The unified diff between two trees; of binary files the names only."""
    before, after = (repository[pygit2.Oid(raw=name)].peel(pygit2.Tree) for name in (old, new))
    return "".join(_part(patch) for patch in before.diff_to_tree(after) if patch is not None)


def _part(patch: pygit2.Patch) -> str:
    delta = patch.delta
    names = [
        f"{side}/{text(file.raw_path)}" if int(file.mode) else _NOTHING
        for side, file in (("a", delta.old_file), ("b", delta.new_file))
    ]
    _, found, hunks = patch.data.partition(b"\n@@")
    return f"--- {names[0]}\n+++ {names[1]}\n" + (f"@@{text(hunks)}" if found else "")
