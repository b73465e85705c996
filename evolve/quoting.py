"""Foreign text made fit to stand in a line of ours."""

from __future__ import annotations

import re

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Text without terminal escapes, control and direction characters; newlines and tabs stay."""
    return CONTROLS.sub("", ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: object, limit: int = 200) -> str:
    """The same in one line, cut to `limit` characters."""
    line = " ".join(plain(str(text)).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def shorten(text: str, limit: int) -> str:
    """Text cut in the middle to about `limit` characters, since beginnings and ends say most."""
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"
