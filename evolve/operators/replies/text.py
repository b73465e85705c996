"""A text file as lines, changed so that every line that is not meant keeps its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines `start` up to `stop` become `new`."""

    start: int
    stop: int
    new: tuple[str, ...]


class TextFile:
    """Lines without their ends, and the ends beside them; only LF and CRLF end a line."""

    def __init__(self, content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        self.bom = text.startswith(BOM)
        pieces = text.removeprefix(BOM).split("\n")
        self.whole_last = pieces[-1] == ""
        if self.whole_last:
            pieces.pop()
        ended = len(pieces) if self.whole_last else len(pieces) - 1
        windows = [i < ended and piece.endswith("\r") for i, piece in enumerate(pieces)]
        self.lines = [piece[:-1] if cut else piece for piece, cut in zip(pieces, windows, strict=True)]
        self.ends = ["\r\n" if cut else "\n" if i < ended else "" for i, cut in enumerate(windows)]

    def places(self, old: Sequence[str]) -> list[int]:
        """Where these lines stand in this order; blanks at their ends count only if that finds some."""
        exact = _places(self.lines, list(old))
        return exact or _places([line.rstrip() for line in self.lines], [line.rstrip() for line in old])

    def spliced(self, splices: Sequence[Splice]) -> bytes:
        """The content after splices that do not overlap."""
        lines, ends = list(self.lines), list(self.ends)
        for splice in sorted(splices, key=lambda each: (each.start, each.stop), reverse=True):
            end = self._end_at(splice.start)
            lines[splice.start : splice.stop] = splice.new
            ends[splice.start : splice.stop] = [end] * len(splice.new)
        ends = [end or self._end_at(i) for i, end in enumerate(ends)]
        if ends and not self.whole_last:
            ends[-1] = ""
        text = "".join(line + end for line, end in zip(lines, ends, strict=True))
        return (BOM * self.bom + text).encode("utf-8", "surrogateescape")

    def _end_at(self, index: int) -> str:
        near = [*self.ends[max(0, index - 1) : index + 1], *self.ends[:1]]
        return next((end for end in near if end), "\n")


def _places(lines: list[str], old: list[str]) -> list[int]:
    if not old:
        return []
    last = len(lines) - len(old)
    return [i for i in range(last + 1) if lines[i] == old[0] and lines[i : i + len(old)] == old]


def overlap(splices: Sequence[Splice]) -> bool:
    """Whether two of them want the same line or the same gap."""
    ordered = sorted(splices, key=lambda each: (each.start, each.stop))
    return any(
        second.start < first.stop or (first.start, first.stop) == (second.start, second.stop)
        for first, second in pairwise(ordered)
    )
