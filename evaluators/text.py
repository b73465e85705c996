"""Text from candidates and evaluators, made harmless: bounded, printable, safe to store as UTF-8."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"""\x1b\[[0-?]*[ -/]*[@-~]            # control sequences: colours, cursor, erasing
      | \x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?   # operating system commands: titles, links, clipboard
      | \x1b[ -/]*[0-~]                    # all other escapes
      | \x9b[0-?]*[ -/]*[@-~]""",
    re.VERBOSE,
)
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_REASON_CHARACTERS = 400


def plain(text: str | bytes) -> str:
    """Return the text without terminal escapes; other controls and unpaired surrogates become U+FFFD."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", _ESCAPES.sub("", text))


def one_line(text: str) -> str:
    """Return the text as one bounded line."""
    line = " ".join(plain(text).split())
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"


def tail(text: str, limit: int) -> str:
    """Return the end of the text, at most `limit` bytes of UTF-8 and a first line that says what was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    kept = data[-limit:].decode("utf-8", "ignore")
    return f"[{len(data) - limit:,} bytes cut here]\n{kept}"


def head(text: str, limit: int) -> str:
    """Return the beginning of the text, at most `limit` bytes of UTF-8 and a line that says what was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    kept = data[:limit].decode("utf-8", "ignore")
    return f"{kept}\n[{len(data) - limit:,} bytes cut here]"
