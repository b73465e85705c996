"""EVOLVE-BLOCK marks: where a file has them, only what stands between them may change.

The convention is AlphaEvolve's; OpenEvolve and ShinkaEvolve have taken it over.
"""

from __future__ import annotations

import re

_MARK = re.compile(rb"EVOLVE-BLOCK-(START|END)")


def blocks(data: bytes) -> list[tuple[int, int]] | None:
    """Byte ranges between EVOLVE-BLOCK marker lines; None where there is no marker."""
    regions: list[tuple[int, int]] = []
    start: int | None = None
    seen = False
    for match in _MARK.finditer(data):
        seen = True
        if match[1] == b"START" and start is None:
            start = data.find(b"\n", match.end()) + 1 or len(data)
        elif match[1] == b"END" and start is not None:
            regions.append((start, data.rfind(b"\n", 0, match.start()) + 1))
            start = None
    if start is not None:
        regions.append((start, len(data)))
    return regions if seen else None


def outside(data: bytes) -> list[bytes] | None:
    """What lies outside the marks, marker lines included; None where there are none."""
    regions = blocks(data)
    if regions is None:
        return None
    cuts = [0, *(at for region in regions for at in region), len(data)]
    return [data[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def kept(old: bytes, new: bytes | None) -> bool:
    """Whether a file stays as it is outside its marks; one without marks may change anyhow."""
    around = outside(old)
    return around is None or (new is not None and outside(new) == around)
