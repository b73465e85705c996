"""The part of YAML that configurations of these systems are written in, read without a library.

Mappings by indentation, lists, quoted and plain scalars, block texts (`|`, `>`), `[a, b]` and `{a: 1}` on one
line, comments. What it does not know (anchors, tags, several documents) it reads as text: these files are
looked at for a few keys only, and a value that is not understood is better named as left out than an error.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s#:"'\[{][^:#]*?)\s*:(?:\s+(?P<rest>.*))?$""")
_NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORDS: dict[str, bool | None] = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_WORDS |= {"null": None, "~": None, "": None}


def read(text: str) -> dict[str, Any]:
    """The mapping that a text holds; empty if it holds none."""
    found, _ = _block(text.expandtabs(4).splitlines(), 0, -1)
    return found if isinstance(found, dict) else {}


def _block(lines: list[str], at: int, outer: int) -> tuple[Any, int]:
    """What is indented deeper than `outer`, and the line after it."""
    at = _next(lines, at)
    if at == len(lines) or _indent(lines[at]) <= outer:
        return None, at
    indent = _indent(lines[at])
    if lines[at].lstrip().startswith(("- ", "-")) and not lines[at].lstrip().startswith("---"):
        return _list(lines, at, indent)
    return _mapping(lines, at, indent)


def _mapping(lines: list[str], at: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while (at := _next(lines, at)) < len(lines) and _indent(lines[at]) >= indent:
        match = _KEY.match(_bare(lines[at]).strip())
        if _indent(lines[at]) > indent or match is None:
            at += 1  # something this reader does not know
            continue
        value, at = _value(lines, at, (match["rest"] or "").strip(), indent)
        found[match["key"].strip("\"'")] = value
    return found, at


def _value(lines: list[str], at: int, rest: str, indent: int) -> tuple[Any, int]:
    if rest[:1] in ("|", ">") and len(rest) <= 3:
        return _text(lines, at + 1, indent, rest[0] == ">")
    if rest:
        return scalar(rest), at + 1
    following = _next(lines, at + 1)
    if following < len(lines) and _indent(lines[following]) == indent and _is_item(lines[following]):
        return _list(lines, following, indent)
    return _block(lines, at + 1, indent)


def _is_item(line: str) -> bool:
    return line.strip() == "-" or line.lstrip().startswith("- ")


def _list(lines: list[str], at: int, indent: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while (at := _next(lines, at)) < len(lines) and _indent(lines[at]) == indent and _is_item(lines[at]):
        rest = _bare(lines[at]).strip()[1:].strip()
        if _KEY.match(rest):  # a mapping that begins on the line of its dash
            lines[at] = " " * (indent + 2) + rest
            value, at = _mapping(lines, at, indent + 2)
        elif rest:
            value, at = scalar(rest), at + 1
        else:
            value, at = _block(lines, at + 1, indent)
        found.append(value)
    return found, at


def _text(lines: list[str], at: int, indent: int, folded: bool) -> tuple[str, int]:
    end = at
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    least = min((_indent(line) for line in lines[at:end] if line.strip()), default=0)
    kept = [line[least:].rstrip() for line in lines[at:end]]
    return ((" " if folded else "\n").join(kept)).strip() + "\n", end


def _next(lines: list[str], at: int) -> int:
    while at < len(lines) and (not _bare(lines[at]).strip() or lines[at].startswith("---")):
        at += 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _bare(line: str) -> str:
    """A line without its comment."""
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def scalar(text: str) -> Any:
    """The value of what stands on one line."""
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        return [scalar(part) for part in _parts(text[1:-1])]
    if text[:1] == "{" and text[-1:] == "}":
        pairs = (part.partition(":") for part in _parts(text[1:-1]))
        return {key.strip().strip("\"'"): scalar(value) for key, _, value in pairs}
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        inside = text[1:-1]
        return (
            inside.replace("''", "'") if text[0] == "'" else inside.replace("\\n", "\n").replace('\\"', '"')
        )
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        number = text.replace("_", "")
        return int(number) if number.lstrip("+-").isdigit() else float(number)
    return text


def _parts(text: str) -> list[str]:
    """Split at commas that stand in no brackets and quotes."""
    found, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append("")
            continue
        found[-1] += letter
    return [part for part in found if part.strip()]
