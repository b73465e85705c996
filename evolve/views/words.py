"""Numbers, ids and foreign text as a terminal may show them.

Summaries, file names, feedback and case names come from candidates, evaluators, models. They are data: here
every character that a terminal obeys or that turns the direction of writing is spelt out, and they reach rich
only as `Text`, in which markup has no meaning.
"""

from __future__ import annotations

import os
import sys
import unicodedata

from rich.console import Console
from rich.text import Text

SHORT = 10
"""Hexadecimal digits shown of an id."""
NOTHING = "-"
WITHOUT_TERMINAL = 250
"""Characters of a line where there is no terminal."""


def console() -> Console:
    """The console of standard output, with nothing of what is printed read as markup.

    A pipe or a file has no columns to keep to; what is cut for eighty of them is lost to who reads it.
    """
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WITHOUT_TERMINAL
    return Console(markup=False, emoji=False, highlight=False, width=width)


def clean(text: str) -> str:
    """Spell out what a terminal would obey; tabs and ends of lines stay."""
    return "".join(letter if _harmless(letter) else _spelt(letter) for letter in text.replace("\r\n", "\n"))


def _harmless(letter: str) -> bool:
    if letter in "\n\t":
        return True
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def line(text: str, style: str = "", limit: int = 200) -> Text:
    """Foreign text as one line of at most `limit` characters."""
    one = " ".join(clean(text[: 4 * limit]).split())
    return Text(one if len(one) <= limit else one[: limit - 1] + "…", style=style)


def block(text: str, limit: int = 40) -> Text:
    """Foreign text as a block of at most `limit` lines."""
    lines = clean(text).expandtabs().splitlines()
    more = [f"… {len(lines) - limit} more lines; --json has all"] if len(lines) > limit else []
    return Text("\n".join(lines[:limit] + more))


def short(id: str | None) -> str:
    """Abbreviated id."""
    return id[:SHORT] if id else NOTHING


def number(value: float | str | None) -> str:
    """A number with as many digits as help; a category as it is."""
    if value is None:
        return NOTHING
    return clean(value) if isinstance(value, str) else f"{value:.7g}"


def gain(value: float | None) -> Text:
    """A gain, its sign always shown; positive is better."""
    if value is None:
        return Text("")
    return Text(f"{value:+.4g}", style="green" if value > 0 else "red" if value < 0 else "dim")


def seconds(value: float) -> str:
    """A time for people."""
    if value < 60:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
