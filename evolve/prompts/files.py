"""The editable files in a prompt: in full where they fit, else the parts that matter.

First come the files that this line of candidates has changed, then small ones. A file too long for what is
left is shown in parts: around its marked blocks, around lines that the evaluator named, else its beginning.
Files are printed in the order of their paths, those of the base first, so that prompts begin alike as long
as the same files have changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from archives.remembered import Remembered
from archives.store import FileEntry, Store
from evolve.operators.base import Order, Source
from evolve.prompts import fence_for, quoted
from evolve.quoting import one_line

Estimate = Callable[[str], int]
LONGEST_LIST = 50
_REGULAR = (0o100644, 0o100755)
_MARK = re.compile(r"EVOLVE-BLOCK-(?:START|END)")


@dataclass(frozen=True, slots=True)
class Text:
    """One editable text file, its size in tokens with everything around it included."""

    path: str
    text: str
    tokens: int


class Texts:
    """Files as texts with their sizes, remembered by content."""

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        self._known: Remembered[str, tuple[str | None, int]] = Remembered(512)

    def of(self, store: Store, entry: FileEntry) -> Text | None:
        """One file; None where a model could not quote it faithfully."""
        if entry.mode not in _REGULAR or not entry.path.isprintable():
            return None
        known = self._known.get(entry.oid)
        if known is None:
            text = _text(store.blob(entry.oid))
            known = (None, 0) if text is None else (text, self._estimate(text))
            self._known.put(entry.oid, known)
        if known[0] is None:
            return None
        return Text(entry.path, known[0], known[1] + len(entry.path) // 2 + 12)


def _text(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


@dataclass(slots=True)
class Files:
    """The editable files of one prompt: in full, in part, and by name only."""

    whole: list[Text]
    parts: list[Text]
    left_out: list[str]


class Selection:
    """Chooses files, in two helpings: first what this line of candidates works on, later the rest."""

    def __init__(self, order: Order, source: Source, entries: Sequence[FileEntry], texts: Texts) -> None:
        self.files = Files([], [], [])
        changed = {path for candidate in (order.parent, *order.lineage) for path in candidate.changed}
        found: list[Text] = []
        for entry in entries:
            if source.editable(entry.path):
                text = texts.of(source.store, entry)
                if text is None:
                    self.files.left_out.append(entry.path)
                else:
                    found.append(text)
        found.sort(key=lambda each: (each.path not in changed, each.tokens, each.path))
        core = [each for each in found if each.path in changed] or found[:1]
        self.core, self.others = core, found[len(core) :]

    def take(self, wanted: Iterable[Text], size: int) -> int:
        """Show what fits of them in full; returns the tokens that it takes."""
        left = size
        for each in wanted:
            if each.tokens <= left:
                self.files.whole.append(each)
                left -= each.tokens
            else:
                self.files.left_out.append(each.path)
        return size - left

    def excerpt(self, said: str, estimate: Estimate, size: int) -> int:
        """Show a part of the first file that did not fit; returns the tokens that it takes."""
        for each in (*self.core, *self.others):
            part = excerpt(each, said, estimate, size) if each.path in self.files.left_out else None
            if part is not None:
                self.files.parts.append(part)
                self.files.left_out.remove(each.path)
                return part.tokens
        return 0


def excerpt(file: Text, said: str, estimate: Estimate, size: int) -> Text | None:
    """As much of a file around the lines that matter as `size` tokens hold; None if that is not one line."""
    lines = file.text.split("\n")
    places = _places(file.path, lines, said)
    low, high = 0, len(lines)
    best: Text | None = None
    while low <= high:
        radius = (low + high) // 2
        text = _windows(lines, places, radius)
        tokens = estimate(text) + len(file.path) // 2 + 12
        if tokens <= size:
            best, low = Text(file.path, text, tokens), radius + 1
        else:
            high = radius - 1
    return best


def _places(path: str, lines: Sequence[str], said: str) -> list[int]:
    """Lines that matter, counted from 0: marks, and what a message names as `path", line N` or `path:N`."""
    name = re.escape(path.rpartition("/")[2])
    named = [int(number) - 1 for number in re.findall(rf'{name}"?(?:, line |:)(\d{{1,7}})', said)]
    marked = [i for i, line in enumerate(lines) if _MARK.search(line)]
    return sorted({i for i in (*named, *marked) if 0 <= i < len(lines)}) or [0]


def _windows(lines: Sequence[str], places: Sequence[int], radius: int) -> str:
    kept = {i for place in places for i in range(place - radius, place + radius + 1) if 0 <= i < len(lines)}
    shown: list[str] = []
    at = 0
    while at < len(lines):
        if at in kept:
            shown.append(lines[at])
            at += 1
            continue
        start = at
        while at < len(lines) and at not in kept:
            at += 1
        shown.append(f"[lines {start + 1} to {at} are not shown]")
    return "\n".join(shown)


def files_section(files: Files, changed: set[str]) -> str:
    """The files in full, in the form in which a whole file may be given back; those of the base first."""
    if not files.whole:
        return ""
    ordered = sorted(files.whole, key=lambda each: (each.path in changed, each.path))
    body = "\n\n".join(_fenced(each.path, each.text) for each in ordered)
    return f"The files that you may change:\n\n{quoted(body, 'editable files')}\n\n"


def parts_section(files: Files) -> str:
    """Files of which only a part is shown; empty if there are none."""
    if not files.parts:
        return ""
    body = "\n\n".join(_fenced(f"part of {each.path}", each.text) for each in files.parts)
    return (
        "You may change this file, which is too long to be shown whole. Change it by blocks with lines that "
        f"are shown, and never give it as a whole:\n\n{quoted(body, 'parts of editable files')}\n\n"
    )


def _fenced(title: str, text: str) -> str:
    fence = fence_for(text)
    return f"{title}\n{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def left_out_section(files: Files) -> str:
    """The names of editable files that are not shown; empty if there are none."""
    if not files.left_out:
        return ""
    paths = sorted(files.left_out)
    names = [one_line(path) for path in paths[:LONGEST_LIST]]
    more = len(paths) - len(names)
    listed = quoted("\n".join(names + ([f"and {more} more"] if more else [])), "paths")
    return f"Editable too, but not shown, so leave them alone:\n\n{listed}\n\n"
