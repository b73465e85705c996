"""A three-way merge of one text that is finer than Git's.

Git merges by lines, and calls it a conflict already where two sides change lines that touch. Two
candidates that tuned neighbouring constants would never meet. Here lines are merged first, changes of
equally many lines one by one, and what still overlaps is merged once more by words. Only where both
sides change the same word differently is there a conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

MAX_TEXT = 200_000
_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|\w+|\s+|.", re.DOTALL)

_Change = tuple[int, int, list[str]]


def merge_text(ancestor: str, ours: str, theirs: str) -> str | None:
    """Both changes in one text; None where they contradict each other."""
    if max(len(ancestor), len(ours), len(theirs)) > MAX_TEXT:
        return None
    first, second, third = (text.splitlines(keepends=True) for text in (ancestor, ours, theirs))
    merged = _merge(first, second, third, by_word=True)
    return None if merged is None else "".join(merged)


def _merge(ancestor: list[str], ours: list[str], theirs: list[str], by_word: bool) -> list[str] | None:
    left, right = _changes(ancestor, ours), _changes(ancestor, theirs)
    result: list[str] = []
    at = 0
    while left or right:
        group, start, end = _overlapping(left, right)
        result += ancestor[at:start]
        mine, yours = (_applied(ancestor, side, start, end) for side in group)
        if not group[1] or mine == yours:
            result += mine
        elif not group[0]:
            result += yours
        else:
            finer = _by_word(ancestor[start:end], mine, yours) if by_word else None
            if finer is None:
                return None
            result += finer
        at = end
    return result + ancestor[at:]


def _by_word(ancestor: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    if not ancestor:
        return None
    words = [_WORD.findall("".join(lines)) for lines in (ancestor, ours, theirs)]
    if max(map(len, words)) > 2000:
        return None
    return _merge(words[0], words[1], words[2], by_word=False)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    """What replaces which range of the old; a range of as many new pieces falls apart into single ones."""
    changes: list[_Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if j - i == m - k:
            changes += [(i + n, i + n + 1, [new[k + n]]) for n in range(j - i) if old[i + n] != new[k + n]]
        else:
            changes.append((i, j, list(new[k:m])))
    return changes


def _overlapping(
    left: list[_Change], right: list[_Change]
) -> tuple[tuple[list[_Change], list[_Change]], int, int]:
    """Take the next changes that share a place off both lists."""
    start = min(side[0][0] for side in (left, right) if side)
    end = start
    group: tuple[list[_Change], list[_Change]] = ([], [])
    grown = True
    while grown:
        grown = False
        for side, taken in zip((left, right), group, strict=True):
            while side and (side[0][0] < end or side[0][0] == start):
                change = side.pop(0)
                taken.append(change)
                end = max(end, change[1])
                grown = True
    return group, start, end


def _applied(ancestor: Sequence[str], changes: Sequence[_Change], start: int, end: int) -> list[str]:
    result: list[str] = []
    for first, last, new in changes:
        result += [*ancestor[start:first], *new]
        start = last
    return result + list(ancestor[start:end])
