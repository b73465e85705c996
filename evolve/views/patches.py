"""A diff as a terminal may show it."""

from __future__ import annotations

from rich.text import Text

from evolve.views.words import clean

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def coloured(diff: str) -> Text:
    """Colour a unified diff, with everything spelt out that a terminal would obey."""
    text = Text()
    inside = False
    for row in clean(diff).split("\n"):
        inside = row.startswith("@@") or (inside and not row.startswith("diff --git "))
        text.append(row, style=_STYLES.get(row[:1], "") if inside else "bold").append("\n")
    text.right_crop(1)
    return text
