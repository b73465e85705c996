"""What a reply can ask for, and why it can be refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from archives.errors import EvolveError
from evolve.quoting import one_line

Sign = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class Change:
    """Lines to find and what becomes of each: kept (" "), removed ("-") or put in ("+")."""

    path: str
    lines: tuple[tuple[Sign, str], ...]

    @property
    def old(self) -> list[str]:
        """The lines that must stand in the file, in this order."""
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(frozen=True, slots=True)
class Whole:
    """A file given in full; `create` means that it must not exist yet."""

    path: str
    lines: tuple[str, ...]
    create: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """A file to remove; `old` holds what the reply believes to be in it, if it says so."""

    path: str
    old: tuple[str, ...] = ()


Edit = Change | Whole | Delete


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply taken apart: its edits, and the prose around them."""

    edits: tuple[Edit, ...]
    prose: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason to refuse a reply: which file, what is wrong, and the text in question."""

    path: str | None
    reason: str
    text: str = ""
    kind: Literal["misfit", "protected", "nothing"] = "misfit"

    def __str__(self) -> str:
        return one_line(f"{self.path}: {self.reason}" if self.path else self.reason, 300)


class ReplyError(EvolveError):
    """A reply is refused as a whole; `problems` holds every reason."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(map(str, self.problems[:3]))
        more = len(self.problems) - 3
        super().__init__(f"{shown}; and {more} more" if more > 0 else shown)


def change(path: str, old: Sequence[str], new: Sequence[str]) -> Change:
    """The change from `old` to `new` lines, in which equal lines at both ends are only context."""
    least = min(len(old), len(new))
    head = next((i for i in range(least) if old[i] != new[i]), least)
    rest = least - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    lines: list[tuple[Sign, str]] = [(" ", text) for text in old[:head]]
    lines += [("-", text) for text in old[head : len(old) - tail]]
    lines += [("+", text) for text in new[head : len(new) - tail]]
    lines += [(" ", text) for text in old[len(old) - tail :]]
    return Change(path, tuple(lines))
