"""Things that are in no tree but in every checkout: untracked data, what a set-up built.

They are put in before an evaluation and taken out after it, because whoever owns the checkout deletes
what the next tree does not have, and must never delete through one of them. Inside walls they are read-
only mounts, which nobody outside can see; elsewhere they are links.
"""

from __future__ import annotations

import os
import stat
from typing import Mapping, Sequence

from . import linux


class PlacingError(Exception):
    """A candidate stands where the evaluator's data goes."""


class Placing:
    """Puts provided things into a checkout and takes them out again."""

    def __init__(
        self, folder: str, provided: Sequence[Sequence[str]], opened: Mapping[str, int] | None
    ) -> None:
        self._folder = folder
        self._provided = provided
        self._opened = opened
        self._placed: list[tuple[str, bool]] = []

    def put(self) -> None:
        """Put everything in.

        Raises:
            PlacingError: The candidate has something of its own there.
        """
        for path, source in self._provided:
            target = self._way_to(path)
            if self._opened is None:
                if os.path.lexists(target):
                    raise PlacingError(
                        f"{path!r} is the place of the evaluator's data, and the candidate fills it"
                    )
                os.symlink(source, target)
                self._placed.append((target, False))
            elif source in self._opened:
                self._mount(path, target, f"/proc/self/fd/{self._opened[source]}")

    def take(self) -> None:
        """Take everything out."""
        while self._placed:
            target, mounted = self._placed.pop()
            if mounted:
                linux.umount(target)
            elif os.path.islink(target):
                os.unlink(target)

    def _way_to(self, path: str) -> str:
        """Return where `path` is, with its parent folders made and none of them a link."""
        folder = self._folder
        *parents, name = path.split("/")
        for part in parents:
            folder = f"{folder}/{part}"
            if os.path.islink(folder):
                raise PlacingError(f"{path!r} leads through a link of the candidate")
            if not os.path.isdir(folder):
                os.mkdir(folder)
        return f"{folder}/{name}"

    def _mount(self, path: str, target: str, source: str) -> None:
        is_folder = os.path.isdir(source)
        if not os.path.lexists(target):
            if is_folder:
                os.mkdir(target)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        mode = os.lstat(target).st_mode
        if stat.S_ISDIR(mode) != is_folder or stat.S_ISLNK(mode):
            raise PlacingError(f"{path!r} is the place of the evaluator's data, and the candidate fills it")
        linux.bind(source, target)
        self._placed.append((target, True))
