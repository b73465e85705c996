"""A real Git repository and store for testing operators."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from archives.records import Basis, Candidate, Proposal
from archives.store import Store
from evolve.operators.base import Draft, Order, Source

_WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    plain = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **_WHO}
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, env=plain, check=True)
    return done.stdout.decode()


class Repo:
    """A repository with one commit and the store made from it."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.root = folder / "repo"
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        self.commit(files)
        sha = git(self.root, "rev-parse", "HEAD").strip()
        self.store = Store.create(folder / "store.git", self.root / ".git", sha)
        self.base = Candidate(self.store.tree_of(sha), sha, 0, (), 0, "base", "base")
        self.source = Source(self.store, lambda path: True)

    def commit(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(text.encode())
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "work")

    def candidate(self, changes: Mapping[str, str | None], parent: Candidate | None = None) -> Candidate:
        parent = parent or self.base
        data = {path: None if text is None else text.encode() for path, text in changes.items()}
        tree = self.store.write_tree(parent.id, data)
        return Candidate(tree, tree, 1, (parent.id,), 1, "edit", "", {}, tuple(changes))

    def order(self, number: int = 1, **more: object) -> Order:
        return Order(number=number, seed=1, parent=more.pop("parent", self.base), base=self.base, **more)  # type: ignore[arg-type]

    def read(self, draft: Draft, path: str) -> str:
        assert draft.tree is not None
        return (self.store.read(draft.tree, path) or b"").decode()

    def proposal(self, number: int, draft: Draft, name: str) -> Proposal:
        parent = draft.parent or self.base.id
        return Proposal(
            number, name, parent, Basis(0, 0), state="done", candidate=draft.tree, payload=draft.payload
        )
