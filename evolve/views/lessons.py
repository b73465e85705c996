"""What a campaign has learned, for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evolve.answers.lessons import LessonEntry, Lessons
from evolve.views.words import line


def lessons(console: Console, answer: Lessons, evidence: bool = False) -> None:
    """Print lessons as a table, or with their evidence."""
    if not answer.lessons:
        console.print("no lessons yet; they are written while a model proposes changes", style="dim")
    elif evidence:
        for entry in answer.lessons:
            console.print(_whole(entry))
    else:
        console.print(_table(answer))
    if answer.forgotten and not any(entry.state == "forgotten" for entry in answer.lessons):
        console.print(f"{answer.forgotten} forgotten; --all shows them", style="dim")


def _table(answer: Lessons) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("lesson", "standing", "won", "about"):
        table.add_column(name, no_wrap=True)
    table.add_column("claim", overflow="fold")
    for entry in answer.lessons:
        word = entry.word if entry.state == "active" else entry.state
        won = f"{entry.wins}/{entry.uses}"
        table.add_row(str(entry.id), word, won, line(entry.scope, limit=24), line(entry.claim, limit=300))
    return table


def _whole(entry: LessonEntry) -> Text:
    rows = [
        ("standing", f"{entry.word} ({entry.helps:.0%} likely to help, effect {entry.effect:+.0%})"),
        ("state", entry.state),
        (
            "used",
            f"{entry.uses} proposals: {entry.wins} better than their parent, {entry.promoted} champions",
        ),
        ("for", _numbers("evaluation", entry.supports)),
        ("against", _numbers("evaluation", entry.contradicts)),
        ("from", _numbers("proposal", entry.sources)),
        ("model", entry.model),
    ]
    text = Text(f"lesson {entry.id}, about ").append_text(line(entry.scope)).append(": ")
    text.append_text(line(entry.claim, limit=300)).append("\n")
    for name, value in rows:
        text.append(f"  {name:9}", style="dim").append_text(line(value)).append("\n")
    return text


def _numbers(what: str, numbers: list[int]) -> str:
    return f"{what} {', '.join(map(str, numbers))}" if numbers else "none"
