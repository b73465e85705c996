"""What models took, for people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from evolve.answers.bills import Bill, Costs, ReplyCounts
from evolve.views.terminal import columns
from evolve.views.words import line


def costs(console: Console, answer: Costs) -> None:
    """Print the bill by model, operator and stage, and what is not sure about it."""
    if not answer.total.calls:
        return console.print("no model was asked")
    heads = ("model", "operator", "stage", "calls", "failed", "tokens", "dollars", "mean s")
    table = columns(*heads, right=("calls", "failed", "tokens", "dollars", "mean s"), wide="model")
    for each in answer.costs:
        words = (line(each.model, limit=60), line(each.operator, limit=12), line(each.stage, limit=10))
        table.add_row(*words, *_numbers(each))
    if len(answer.costs) > 1:
        table.add_row(Text("together", style="bold"), "", "", *_numbers(answer.total))
    console.print(table)
    for text in [*_usable(answer.replies), *_notes(answer.total)]:
        console.print(Text(text, style="dim"))
    return None


def _numbers(bill: Bill) -> tuple[str, ...]:
    tokens = bill.prompt_tokens + bill.completion_tokens
    priced = bill.answered + bill.failed > bill.unpriced or bill.usd
    return (
        str(bill.calls),
        str(bill.failed + bill.lost),
        f"{tokens:,}",
        f"{bill.usd:.4f}" if priced else "unknown",
        f"{bill.seconds:.1f}",
    )


def _usable(found: ReplyCounts) -> list[str]:
    if not found.proposals:
        return []
    return [
        f"{found.replies} replies for {found.proposals} proposals: {found.usable} could be used, "
        f"{found.new} led to a new program"
    ]


def _notes(total: Bill) -> list[str]:
    notes = [
        f"{total.prompt_tokens:,} tokens sent ({total.cached_tokens:,} of them from a provider's cache), "
        f"{total.completion_tokens:,} received"
    ]
    if total.unpriced:
        notes.append(f"{total.unpriced} calls have no known price; price_in and price_out give one")
    if total.lost or total.in_flight:
        notes.append(
            f"{total.lost} calls whose end nobody saw and {total.in_flight} in flight: at most "
            f"{total.at_most_tokens:,} tokens and ${total.at_most_usd:.4f} more, which the budget counts"
        )
    if total.repeated:
        notes.append(f"{total.repeated} replies are a recording's, given again; nothing was billed for them")
    return notes
