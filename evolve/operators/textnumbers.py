"""Numbers of any text that is not Python: TOML, YAML, JSON, C, JavaScript, shell, a plain list of numbers.

There is no grammar here, only what a number cannot be part of: a word, a version, a date, a time, an
address, a hexadecimal constant, a colour, a comment, a string in a language that has strings, an index.
"""

from __future__ import annotations

import math
import re
from pathlib import PurePosixPath

from evolve.operators.literals import MAX_MAGNITUDE, Literal

_LIKE_C = (
    ".c .h .cc .cpp .cxx .hpp .cu .glsl .js .mjs .ts .tsx .jsx .json5 .css .java .kt .go .rs .swift .cs .zig"
)
_LIKE_SHELL = ".toml .yaml .yml .cfg .conf .sh .bash .rb .pl .r .jl .mk .cmake .awk"
_SLASHES = frozenset(_LIKE_C.split())
_HASHES = frozenset(_LIKE_SHELL.split())
_QUOTED = _SLASHES | _HASHES | {".json", ".lua", ".sql"}

_NUMBER = re.compile(
    rb"(?<![\w.$#@%\\&])(?P<sign>-(?=[\d.]))?(?P<body>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)(?=[fF]?(?![\w.]))"
)
_NEVER = (
    rb"(?<!\d)\d{4}-\d\d?-\d\d?(?:[T ][\d:.+Z-]*)?"  # date
    rb"|(?<!\d)\d+:\d+(?::\d+)*"  # time, ratio
    rb"|(?<![\w.])[vV]?\d+(?:\.\d+){2,}"  # version, address
    rb"|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,}"  # UUID
    rb"|(?<=[\w\])])\[\s*-?\d+\s*\]"  # index
    rb"|(?<![\w.])\d+[<>]&?\d*"  # redirection
)
_STRINGS = rb"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_LINE_NAME = re.compile(rb"[\"']?([A-Za-z_][\w.-]*)[\"']?\s*(?:[:=]|:=)\s*[^=:]*$")
_BEFORE_SIGN = frozenset(bytes([byte]) for byte in b" \t\n\r([{,=:")
_OPERAND_END = re.compile(rb"[\w\])]\s*$")


def scan(path: str, data: bytes) -> list[Literal]:
    """The numbers of a text, in order."""
    never = _never(PurePosixPath(path).suffix.lower())
    skipped = [match.span() for match in never.finditer(data)]
    found: list[Literal] = []
    at = 0
    for match in _NUMBER.finditer(data):
        while at < len(skipped) and skipped[at][1] <= match.start():
            at += 1
        if at < len(skipped) and skipped[at][0] < match.end():
            continue
        literal = _literal(data, match)
        if literal is not None:
            found.append(literal)
    return found


def _never(suffix: str) -> re.Pattern[bytes]:
    pattern = _NEVER
    if suffix in _QUOTED:
        pattern += _STRINGS
    if suffix in _SLASHES:
        pattern += rb"|//[^\n]*|/\*[\s\S]*?\*/|#\s*(?:include|line|pragma)[^\n]*"
    if suffix in _HASHES:
        pattern += rb"|(?:(?<=\s)|^)#[^\n]*|^\s*\[+[\w.\" -]+\]+\s*$"
    return re.compile(pattern, re.MULTILINE)


def _literal(data: bytes, match: re.Match[bytes]) -> Literal | None:
    body = match["body"]
    integer = body.isdigit()
    if integer and ((len(body) > 1 and body.startswith(b"0")) or int(body) > MAX_MAGNITUDE):
        return None
    line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    negative = match["sign"] is not None and not _OPERAND_END.search(line)
    start = match.start() if negative else match.start("body")
    value = -float(body) if negative else float(body)
    if not math.isfinite(value):
        return None
    named = _LINE_NAME.search(line)
    number = data.count(b"\n", 0, start) + 1
    name = named[1].decode() if named else f"line {number}"
    glued = start > 0 and data[start - 1 : start] not in _BEFORE_SIGN
    if glued and negative:
        return None
    # A minus written behind another sign or an operand would be read as part of that.
    unsigned = not negative and (glued or bool(_OPERAND_END.search(line)))
    return Literal(start, match.end("body"), value, integer, name, low=0.0 if unsigned else None)
