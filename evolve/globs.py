"""Path patterns as people write them: `*` within a folder, `**` across folders, `?`, `[abc]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def translate(pattern: str) -> re.Pattern[str]:
    """The regular expression of one pattern; it has to match the whole path."""
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            parts.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            parts.append(".*")
            position += 2
        elif pattern[position] == "*":
            parts.append("[^/]*")
            position += 1
        elif pattern[position] == "?":
            parts.append("[^/]")
            position += 1
        elif pattern[position] == "[" and (end := pattern.find("]", position + 2)) > 0:
            parts.append(_letters(pattern[position + 1 : end]))
            position = end + 1
        else:
            parts.append(re.escape(pattern[position]))
            position += 1
    return re.compile("".join(parts), re.DOTALL)


def _letters(inside: str) -> str:
    """A set of letters; one that no regular expression can say stands for itself."""
    escaped = re.sub(r"([\\\[\]&~|^])", r"\\\1", inside)
    group = "[" + ("^" + escaped[1:] if inside.startswith("!") else escaped) + "]"
    try:
        re.compile(group)
    except re.error:
        return re.escape(f"[{inside}]")
    return group


def matcher(patterns: Iterable[str], prefix: str = "") -> Callable[[str], bool]:
    """A test for paths that match any of the patterns; a pattern ending in `/` means all below it.

    Args:
        patterns: Patterns relative to `prefix`.
        prefix: Folder the patterns start from, "" or ending in "/".
    """
    compiled = [translate(p + "**" if p.endswith("/") else p) for p in patterns]

    def matches(path: str) -> bool:
        if not path.startswith(prefix):
            return False
        rest = path[len(prefix) :]
        return any(pattern.fullmatch(rest) for pattern in compiled)

    return matches
