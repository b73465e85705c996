"""Finding the numbers of a file that may be tuned, and writing other numbers in their place.

A number is found by its *place* (a call argument, a constant, a comparison), hardly ever by its value,
so that a file with other numbers in it has the same numbers in the same places. That is what makes a
*skeleton*: the file with its numbers blanked out names a search space, and every file with that skeleton
is a point of it. Where a rule does look at the value (the 0 and 1 of loops, indices and comparisons are
structure, not parameters), the numbers that are not excluded carry a bound which keeps them out of that
range. For the same reason whole numbers stay whole, and a number keeps its sign where a minus would
change how the text around it is read.

Python is read through `ast`, whose positions are exact (columns count UTF-8 bytes). Every other text
goes through `textnumbers`, which knows no grammar. Where a file has EVOLVE-BLOCK-START and
EVOLVE-BLOCK-END lines only what lies between them is touched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evolve.blocks import blocks

MAX_BYTES = 256 * 1024
"""Files above this size are data or generated, not something to tune."""
MAX_MAGNITUDE = 1e15
"""Whole numbers beyond this are masks, hashes and sentinels."""

_BINARY_SUFFIXES = """
    .png .jpg .jpeg .gif .webp .ico .svg .pdf .woff .woff2 .ttf .mp3 .mp4 .zip .gz .xz .bz2 .7z .tar .whl
    .so .dll .dylib .exe .o .a .bin .pyc .npy .npz .pkl .pt .parquet .db .sqlite .csv .tsv .ipynb .lock
    .patch .diff
"""
_BINARY = frozenset(_BINARY_SUFFIXES.split())


@dataclass(frozen=True, slots=True)
class Literal:
    """One number in a file.

    Attributes:
        start: Offset of its first byte, a minus sign included.
        end: Offset behind its last byte.
        value: Its value; exact for whole numbers up to `MAX_MAGNITUDE`.
        integer: Whether it is written as a whole number, and stays one.
        name: What a person would call it, such as the constant it defines.
        rank: 0 for what is usually a parameter, 1 for other numbers.
        low: Least value that keeps the meaning of the text around it.
        high: Greatest such value.
    """

    start: int
    end: int
    value: float
    integer: bool
    name: str
    rank: int = 0
    low: float | None = None
    high: float | None = None

    def fit(self, value: float) -> float:
        """The nearest value this place can hold, as it will be written."""
        if self.low is not None:
            value = max(value, self.low)
        if self.high is not None:
            value = min(value, self.high)
        if self.integer:
            return float(round(value))
        return float(f"{value:.9g}") + 0.0


def tunable(path: str) -> bool:
    """Whether a file of this name can hold numbers to tune."""
    return PurePosixPath(path).suffix.lower() not in _BINARY


def find(path: str, data: bytes) -> tuple[Literal, ...]:
    """The numbers of a file in order; none where it is binary, too large, or Python that does not parse."""
    if len(data) > MAX_BYTES or b"\0" in data or not tunable(path):
        return ()
    try:
        data.decode()
    except UnicodeDecodeError:
        return ()
    if path.endswith(".py"):
        from evolve.operators.pythonnumbers import scan
    else:
        from evolve.operators.textnumbers import scan
    found = sorted(scan(path, data), key=lambda literal: literal.start)
    regions = blocks(data)
    if regions is None:
        return tuple(found)
    return tuple(x for x in found if any(start <= x.start and x.end <= end for start, end in regions))


def skeleton(data: bytes, literals: Sequence[Literal]) -> bytes:
    """Digest of a file with its numbers blanked out."""
    digest = hashlib.sha256()
    at = 0
    for literal in literals:
        digest.update(data[at : literal.start])
        digest.update(b"\0i" if literal.integer else b"\0f")
        at = literal.end
    digest.update(data[at:])
    return digest.digest()


def substitute(
    data: bytes, literals: Sequence[Literal], values: Sequence[float]
) -> tuple[bytes, tuple[Literal, ...]]:
    """The file with other numbers, and where they now are.

    A number that keeps its value keeps its spelling.
    """
    pieces: list[bytes] = []
    moved: list[Literal] = []
    at = shift = 0
    for literal, wanted in zip(literals, values, strict=True):
        value = literal.fit(wanted)
        text = data[literal.start : literal.end]
        if value != literal.value:
            text = (str(int(value)) if literal.integer else repr(value)).encode()
        pieces += [data[at : literal.start], text]
        start = literal.start + shift
        rest = (literal.integer, literal.name, literal.rank, literal.low, literal.high)
        moved.append(Literal(start, start + len(text), value, *rest))
        at = literal.end
        shift += len(text) - (literal.end - literal.start)
    pieces.append(data[at:])
    return b"".join(pieces), tuple(moved)
