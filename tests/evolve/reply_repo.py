"""A store with given files and links, and a model that reads its replies from a list."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from archives.records import Candidate
from archives.store import Store
from evolve.models import Reply
from evolve.models.tokens import estimate
from evolve.operators.base import Order, Source
from evolve.operators.conversation import Asking
from evolve.prompts.composing import Composer
from evolve.prompts.templates import load

Asks = TypeVar("Asks", bound=Asking)

PLAIN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class ReplyRepo:
    """One commit in a store."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, bytes],
        links: Mapping[str, str] | None = None,
        editable: Callable[[str], bool] = lambda path: True,
    ) -> None:
        root = folder / "repo"
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        for path, target in (links or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).symlink_to(target)
        self._git(root, "init", "-q", "-b", "main")
        self._git(root, "add", "-A")
        self._git(root, "commit", "-q", "--allow-empty", "-m", "base")
        sha = self._git(root, "rev-parse", "HEAD").strip()
        self.store = Store.create(folder / "store.git", root / ".git", sha)
        self.base = Candidate(self.store.tree_of(sha), sha, 0, (), 0, "base", "base")
        self.source = Source(self.store, editable)

    @staticmethod
    def _git(root: Path, *words: str) -> str:
        env = {"PATH": os.environ["PATH"], **PLAIN, **WHO}
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, env=env, check=True)
        return done.stdout.decode()

    def candidate(self, changes: Mapping[str, bytes | None], summary: str = "") -> Candidate:
        tree = self.store.write_tree(self.base.id, changes)
        return Candidate(tree, tree, 1, (self.base.id,), 1, "edit", summary, {}, tuple(changes))

    def order(self, **more: object) -> Order:
        values = {"number": 1, "seed": 1, "parent": self.base, "base": self.base, **more}
        return Order(**values)  # type: ignore[arg-type]


def asking(kind: type[Asks], models: Any) -> Asks:
    """An operator with the prompts that come with Evolve."""
    return kind(models, Composer(load(), estimate))


class ScriptedModels:
    """Stands in for the gateway: replies in order, requests kept."""

    def __init__(self, replies: Sequence[str], finish_reason: str = "stop", room: int | None = None) -> None:
        self.replies = list(replies)
        self.room = room
        self.finish_reason = finish_reason
        self.requests: list[list[dict[str, str]]] = []
        self.asked: list[dict[str, Any]] = []

    def prompt_room(self) -> int | None:
        return self.room

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, number: int, attempt: int, **asked: Any
    ) -> Reply:
        text = self.replies[len(self.requests)]
        self.requests.append([dict(message) for message in messages])
        self.asked.append(asked)
        return Reply(text, "scripted", self.finish_reason, 10, 5, 0.01, 0.1)
