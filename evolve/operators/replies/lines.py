"""How lines of a reply are told apart: fences, markers, and lines that name a file."""

from __future__ import annotations

import re
from collections.abc import Container

STRAY = re.compile(r"(>{3,}\s*REPLACE|<{3,}\s*(SEARCH|ORIGINAL))\s*")
SEARCH = re.compile(r"(<{5,})\s*SEARCH\s*")
FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)")
LEAD = re.compile(r"^(?:(?:#{1,6}|//|[-*+>]|\d+[.)])\s+)+")
LABEL = re.compile(r"^(?:(?:file|path)(?:\s?name)?|new file)\s*:\s*", re.IGNORECASE)
TICKED = re.compile(r"`([^`]+)`")


def opens_fence(line: str) -> str | None:
    """The backticks or tildes of a line that may open a fence, else None."""
    found = FENCE.fullmatch(line.rstrip())
    return found[1] if found else None


def closes_fence(line: str, fence: str) -> bool:
    """Whether a line closes a fence: the same sign, at least as often, and nothing else."""
    line = line.rstrip()
    return len(line) >= len(fence) and set(line) == {fence[0]}


def path_named(line: str, known: Container[str]) -> str | None:
    """The path that a line names, or None if it is prose.

    A path that the repository holds is recognised whatever signs it is made of, and in a sentence if it
    stands in backticks. Any other has to look like one: no blanks, and a folder or an extension.
    """
    text = line.strip()
    bare = LABEL.sub("", LEAD.sub("", text), count=1).strip("*").strip()
    bare = LABEL.sub("", bare, count=1).removesuffix(":").strip("*").strip()
    ticked: list[str] = TICKED.findall(text)
    options = [text, bare, bare.strip("`\"'"), *(ticked if len(ticked) == 1 else [])]
    options = [_without_dots(option) for option in options]
    for option in options:
        if option in known:
            return option
    if _looks_like_path(options[2]):
        return options[2]
    return next((option for option in options[3:] if "/" in option and _looks_like_path(option)), None)


def _without_dots(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    return path


def _looks_like_path(text: str) -> bool:
    if not text or len(text) > 400 or "://" in text or re.search(r"[\s`*\"'<>|]", text):
        return False
    return "/" in text.strip("/") or re.search(r"[^.]\.\w{1,12}$", text) is not None


def header_path(line: str) -> str | None:
    """The path of a `--- ` or `+++ ` line of a diff as it is written; None for /dev/null."""
    text = line[4:].split("\t")[0].strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = _unquoted(text[1:-1])
    return None if text == "/dev/null" else text


def _unquoted(text: str) -> str:
    """Undo Git's quoting of unusual paths."""
    simple = {"t": b"\t", "n": b"\n", "r": b"\r"}

    def byte(found: re.Match[bytes]) -> bytes:
        code = found[1].decode()
        return bytes([int(code, 8) & 255]) if code.isdigit() else simple.get(code, found[1])

    raw: bytes = re.sub(rb"\\([0-7]{3}|.)", byte, text.encode())
    return raw.decode("utf-8", "replace")


def header_paths(old: str, new: str) -> tuple[str | None, str | None]:
    """The two paths of a file's diff, without Git's a/ and b/."""
    before, after = header_path(old), header_path(new)
    if (before is None or before.startswith("a/")) and (after is None or after.startswith("b/")):
        before, after = before[2:] if before else None, after[2:] if after else None
    return _without_dots(before) if before else None, _without_dots(after) if after else None
