"""A campaign that goes on, as a live panel or as plain lines."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from evolve.answering.running import Glance
from evolve.answers import Happening, Limit, Spending, Stage
from evolve.views.terminal import STATE_STYLES, facts
from evolve.views.words import NOTHING, clean, line, number, seconds, short

BLOCKS = "▁▂▃▄▅▆▇█"
LETTERS = "_.-=+*#@"
_BAR = 24
_CURVE = 40


def budget(console: Console, answer: Spending) -> None:
    """Print the limits and what is spent."""
    table = facts()
    for name, limit in answer.budget.items():
        added = answer.added.get(name)
        more = f" ({spelt(name, added)} added)" if added else ""
        table.add_row(name, f"{spelt(name, limit.spent)} of {spelt(name, limit.limit)}{more}")
    console.print(table)


def spelt(name: str, amount: float) -> str:
    """An amount of the budget in its unit."""
    return seconds(amount) if name == "wall" else number(amount)


def event(one: Happening) -> str:
    """An event as a plain line."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.time))
    words = " ".join(clean(one.text).split())
    return f"{stamp}  {clean(one.kind):<10}  {words}"


def plain(glance: Glance) -> str:
    """A glance as one line."""
    parts = [
        glance.state,
        f"proposals {_share(glance.budget, 'proposals', glance.proposals)}",
        f"evaluations {_share(glance.budget, 'evaluations', glance.evaluations)}",
        f"in flight {glance.in_flight}" + _busy(glance.stages),
        f"best {number(glance.best)} (baseline {number(glance.baseline)})",
    ]
    return "  ".join(parts)


def _share(budget: Mapping[str, Limit], name: str, value: int) -> str:
    return f"{value}/{budget[name].limit:g}" if name in budget else str(value)


def _busy(stages: Mapping[str, Stage]) -> str:
    words = [
        f"{name} {stage.busy}+{stage.waiting}"
        for name, stage in stages.items()
        if stage.busy or stage.waiting
    ]
    return f" ({', '.join(words)})" if words else ""


def panel(glance: Glance, unicode: bool = True) -> Group:
    """A glance as a panel for a terminal."""
    head = Text(f"{clean(glance.campaign)}  ")
    head.append(glance.state, style=STATE_STYLES.get(glance.state, ""))
    if glance.pid:
        head.append(f" (process {glance.pid})", style="dim")
    if glance.reason:
        head.append_text(Text("  ")).append_text(line(glance.reason))
    table = facts()
    for name, limit in glance.budget.items():
        words = f"{spelt(name, limit.spent)} of {spelt(name, limit.limit)}"
        table.add_row(name, f"{bar(limit.spent / limit.limit, unicode)}  {words}")
    for name in ("proposals", "evaluations"):
        if name not in glance.budget:
            table.add_row(name, str(getattr(glance, name)))
    table.add_row("best", f"{number(glance.best)} (baseline {number(glance.baseline)})")
    table.add_row("champions", sparkline(glance.curve, glance.proposals, unicode=unicode))
    table.add_row("in flight", str(glance.in_flight))
    return Group(head, table, *_stages(glance.stages), *_failures(glance))


def _stages(stages: Mapping[str, Stage]) -> list[Table]:
    if not stages:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("stage", "busy", "workers", "waiting", "bound by"):
        words = name in ("stage", "bound by")
        table.add_column(name, header_style="dim", justify="left" if words else "right")
    for name, stage in stages.items():
        table.add_row(name, str(stage.busy), str(stage.width), str(stage.waiting), stage.bound)
    return [table]


def _failures(glance: Glance) -> list[Text]:
    return [
        Text(f"{short(one.candidate)}  {one.verdict.replace('_', ' ')}  ", style="red").append_text(
            line(one.reason or "", limit=100)
        )
        for one in glance.failures
    ]


def bar(share: float, unicode: bool = True, width: int = _BAR) -> str:
    """A bar of how much is used up."""
    full = min(width, max(0, round(share * width)))
    return ("█" if unicode else "#") * full + ("░" if unicode else ".") * (width - full)


def sparkline(
    curve: Sequence[tuple[int, float]], proposals: int, width: int = _CURVE, unicode: bool = True
) -> str:
    """The score of the champion from the first proposal to the last, higher is higher.

    Args:
        curve: Proposal and score of each champion, in order.
        proposals: Proposals so far.
        width: Most letters.
        unicode: Whether the terminal can show blocks.
    """
    if not curve:
        return NOTHING
    columns = max(1, min(width, proposals + 1))
    last = max(proposals, 1)
    shown = []
    for column in range(columns):
        until = last * (column + 1) / columns
        shown.append([score for made, score in curve if made <= until][-1:] or [curve[0][1]])
    scores = [one[0] for one in shown]
    low, high = min(scores), max(scores)
    letters = BLOCKS if unicode else LETTERS
    span = (high - low) or 1.0
    return "".join(letters[round((score - low) / span * (len(letters) - 1))] for score in scores)
