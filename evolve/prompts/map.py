"""The map of a repository: what the files around the editable ones offer, the relevant ones first.

Relevant is, in this order: what this line of candidates has changed; what editable files import; what the
evaluator named; what lies in the same folders; the rest. Within its size the map takes the most relevant
files, and shows them in the order of their paths, so that two prompts mostly begin alike.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Sequence

from archives.store import FileEntry
from evolve.operators.base import Order, Source
from evolve.prompts import quoted
from evolve.prompts.outline import Outlines
from evolve.quoting import one_line

Estimate = Callable[[str], int]
MOST_FILES = 2_000
"""Files of a repository that are considered at all."""
OUTLINED = 3
"""Ranks below which a file is outlined; others are only named."""


def map_section(
    order: Order,
    source: Source,
    entries: Sequence[FileEntry],
    shown: Collection[str],
    outlines: Outlines,
    estimate: Estimate,
    size: int,
) -> str:
    """The map within `size` tokens; empty if there is nothing to tell.

    Args:
        order: The proposal.
        source: What may be looked at.
        entries: All files of the parent.
        shown: Paths of files that the prompt holds anyway.
        outlines: What is known of files.
        estimate: Tokens of a text.
        size: Most tokens.
    """
    others = [
        entry
        for entry in entries
        if entry.path not in shown
        and entry.path.isprintable()
        and (source.visible(entry.path) or source.editable(entry.path))
    ]
    edited = [entry for entry in entries if source.editable(entry.path)]
    ranks = _ranks(order, source, others[:MOST_FILES], edited[:MOST_FILES], outlines)
    chosen: dict[str, str] = {}
    left = size - estimate(quoted("", "map of the repository")) - 20
    for rank, entry in sorted(ranks, key=lambda pair: (pair[0], pair[1].path)):
        lines = outlines.of(source.store, entry).lines if rank <= OUTLINED else ()
        text = "\n".join([one_line(entry.path), *(f"    {line}" for line in lines)])
        cost = estimate(text) + 1
        if cost > left:
            text = one_line(entry.path)
            cost = estimate(text) + 1
        if cost > left:
            break
        chosen[entry.path] = text
        left -= cost
    if not chosen:
        return ""
    body = "\n".join(chosen[path] for path in sorted(chosen))
    return f"Other files of the repository, in outline:\n\n{quoted(body, 'map of the repository')}\n\n"


def _ranks(
    order: Order,
    source: Source,
    others: Sequence[FileEntry],
    edited: Sequence[FileEntry],
    outlines: Outlines,
) -> list[tuple[int, FileEntry]]:
    changed = {path for candidate in (order.parent, *order.lineage) for path in candidate.changed}
    imported = _imported(source, edited, outlines, [entry.path for entry in others])
    folders = {posixpath.dirname(entry.path) for entry in edited}
    said = order.feedback

    def rank(path: str) -> int:
        if path in changed:
            return 0
        if path in imported:
            return 1
        if posixpath.basename(path) in said:
            return 2
        return 3 if posixpath.dirname(path) in folders else 4

    return [(rank(entry.path), entry) for entry in others]


def _imported(
    source: Source, edited: Iterable[FileEntry], outlines: Outlines, paths: Sequence[str]
) -> set[str]:
    """Which of the paths the editable files import."""
    wanted: set[str] = set()
    for entry in edited:
        if entry.path.endswith(".py"):
            folder = posixpath.dirname(entry.path)
            for name in outlines.of(source.store, entry).imports:
                wanted |= _places(name, folder)
    return {path for path in paths if path.endswith(".py") and _tails(path) & wanted}


def _places(name: str, folder: str) -> set[str]:
    """Paths, or their ends, at which a module may lie."""
    dots = len(name) - len(name.lstrip("."))
    parts = name.lstrip(".").replace(".", "/")
    if dots:
        for _ in range(dots - 1):
            folder = posixpath.dirname(folder)
        parts = posixpath.join(folder, parts)
    return {f"{parts}.py", f"{parts}/__init__.py"}


def _tails(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[i:]) for i in range(len(parts))}
