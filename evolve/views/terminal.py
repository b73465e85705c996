"""Answers as tables and panels for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evolve.views.words import NOTHING, block, clean, line, number, seconds, short

if TYPE_CHECKING:
    from evolve.answers import (
        ArmRecord,
        Campaigns,
        Champions,
        Evaluations,
        Ranked,
        Show,
        StageFate,
        Staleness,
        Started,
        Status,
    )

STATE_STYLES = {"running": "green", "dead": "bold red", "paused": "yellow"}
_LAST_REFUSALS = 10
_VERDICT_STYLES = {"failed": "red", "invalid": "red", "tampered": "bold red", "could_not_judge": "yellow"}


def facts() -> Table:
    """An empty table of names and values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def columns(*names: str, right: tuple[str, ...] = (), wide: str | None = None) -> Table:
    """An empty table with a head.

    Args:
        names: Heads of the columns.
        right: Those that are numbers.
        wide: The one that gives way when the terminal is narrow.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for name in names:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name != wide,
            overflow="fold" if name == wide else "ellipsis",
            ratio=1 if name == wide else None,
        )
    return table


def status(console: Console, answer: Status) -> None:
    """Print where a campaign stands."""
    table = facts()
    state = Text(answer.state, style=STATE_STYLES.get(answer.state, ""))
    if answer.pid:
        state.append(f" (process {answer.pid})", style="dim")
    table.add_row("campaign", line(answer.campaign))
    table.add_row("state", state)
    if answer.reason:
        table.add_row("why", line(answer.reason))
    table.add_row("objective", line(f"{answer.objective}, {answer.direction}"))
    table.add_row("baseline", number(answer.baseline_score))
    table.add_row("best", _score_of(answer.best_score, answer.champion))
    _highest(table, answer.highest, answer.champion)
    table.add_row("proposals", _counts(answer.proposals, answer.outcomes))
    table.add_row("candidates", _counts(answer.candidates, answer.verdicts))
    table.add_row("evaluations", _evaluations(answer))
    if answer.evaluator > 1:
        table.add_row("evaluator", f"version {answer.evaluator}; what earlier ones said is not believed")
    if answer.waiting:
        table.add_row("to be judged again", f"{answer.waiting} candidates")
    for name, fate in answer.evaluator_stages.items():
        table.add_row(f"stage: {name}", _stage_fate(fate))
    if answer.saved is not None and answer.saved > 0:
        table.add_row("saved", f"about {seconds(answer.saved)} of the evaluator")
    table.add_row("champions", f"{answer.promotions} promoted")
    table.add_row("archive", f"{answer.elites} elites, {answer.coverage:.0%} of the cells")
    table.add_row("in flight", f"{answer.in_flight} ({answer.stale} stale)")
    for name, stage in answer.stages.items():
        if stage.bound:
            table.add_row(f"width: {name}", f"{stage.width} ({stage.bound})")
    _staleness(table, answer.staleness)
    for name, limit in answer.budget.items():
        spell = seconds if name == "wall" else number
        table.add_row(f"budget: {name}", f"{spell(limit.spent)} of {spell(limit.limit)}")
    table.add_row("home", line(answer.home, limit=1000))
    console.print(table)


def arms(console: Console, records: Sequence[ArmRecord]) -> None:
    """Print what each operator with its model, and each policy, has won."""
    heads = ("chosen", "model", "proposals", "better", "champions", "won", "dollars", "share", "led to")
    table = columns(*heads, right=heads[2:8], wide="led to")
    for one in records:
        table.add_row(
            line(one.name if one.kind == "operator" else f"policy {one.name}"),
            line(one.model or ""),
            str(one.proposals),
            str(one.improved),
            str(one.promoted),
            f"{one.reward:.3g}",
            f"{one.usd:.4g}" if one.usd else "",
            f"{one.share:.0%}",
            ", ".join(f"{count} {name}" for name, count in one.outcomes.items()),
        )
    console.print()
    console.print(table)


def _stage_fate(fate: StageFate) -> str:
    numbers = {"judged": fate.judged, "gated out": fate.gated_out, "cut short": fate.cut_short}
    words = [f"{count} {name}" for name, count in numbers.items() if count or name == "judged"]
    return f"{', '.join(words)} in {seconds(fate.seconds)}"


def _score_of(score: float | None, candidate: str | None) -> str:
    return f"{number(score)}  {short(candidate)}" if candidate else NOTHING


def _highest(table: Table, highest: Ranked | None, champion: str | None) -> None:
    if highest and highest.candidate != champion:
        words = f"{_score_of(highest.score, highest.candidate)}  (raw score, not promoted)"
        table.add_row("highest", words)


def _counts(total: int, parts: Mapping[Any, int]) -> str:
    words = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in parts.items() if count)
    return f"{total} ({words})" if words else str(total)


def _staleness(table: Table, answer: Staleness) -> None:
    for words in _fates(answer):
        table.add_row("was stale", words)


def _fates(answer: Staleness) -> Iterator[str]:
    for name, fate in answer.fates.items():
        words = f"{fate.proposals} {name}"
        if fate.improved:
            words += f", {fate.improved} of them better, by {number(fate.gain)} in all"
        if fate.promoted:
            words += f"; {fate.promoted} became champion"
        yield words


def _evaluations(answer: Status) -> str:
    extra = answer.runs - answer.evaluations
    return f"{answer.evaluations}" + (f" and {extra} that do not count" if extra else "")


def campaigns(console: Console, answer: Campaigns) -> None:
    """Print the list of campaigns."""
    if not answer.campaigns:
        console.print("no campaigns yet; `evolve init` and `evolve run` start one")
        return
    heads = ("campaign", "state", "evaluations", "baseline", "best", "why")
    table = columns(*heads, right=heads[2:5], wide="why")
    for one in answer.campaigns:
        table.add_row(
            line(one.campaign),
            Text(one.state or "unreadable", style=STATE_STYLES.get(one.state or "dead", "")),
            str(one.evaluations),
            number(one.baseline_score),
            number(one.best_score),
            line(one.reason or ""),
        )
    console.print(table)


def show(console: Console, answer: Show) -> None:
    """Print one candidate."""
    table = facts()
    table.add_row("candidate", answer.candidate + ("  champion" if answer.champion else ""))
    table.add_row("commit", answer.commit)
    table.add_row(
        "made by", line(f"{answer.operator}: {answer.summary}" if answer.summary else answer.operator)
    )
    if answer.parents:
        table.add_row("parents", " × ".join(short(parent) for parent in answer.parents))
    if answer.rebased_from:
        table.add_row("rebased from", short(answer.rebased_from))
    if answer.inspirations:
        table.add_row("inspired by", ", ".join(short(one) for one in answer.inspirations))
    table.add_row("verdict", _verdict(answer.verdict, answer.reason))
    table.add_row("score", f"{number(answer.score)}  (baseline {number(answer.baseline_score)})")
    if answer.champion:
        _highest(table, answer.highest, answer.candidate)
    for name, value in answer.metrics.items():
        table.add_row(line(f"metric: {name}"), number(value))
    for name, measure in answer.measures.items():
        table.add_row(line(f"measure: {name}"), Text(number(measure)))
    cell = NOTHING if answer.cell is None else ", ".join(clean(str(part)) for part in answer.cell)
    table.add_row("cell", Text(cell))
    table.add_row("evaluations", str(answer.evaluations))
    if answer.changed:
        table.add_row("changed", Text("\n".join(str(line(path)) for path in answer.changed)))
    for attempt in answer.proposals:
        maker = f"#{attempt.proposal} {attempt.operator} from {short(attempt.parent)}"
        words = f"{maker}: {attempt.outcome or 'open'}"
        if attempt.model and attempt.prompt:
            words += f" ({attempt.model}, prompt {attempt.prompt})"
        table.add_row("proposal", line(words))
    for decision in answer.evidence:
        table.add_row("promoted" if decision.promoted else "refused", line(decision.reason, limit=500))
    console.print(table)
    _cases(console, answer)
    if answer.feedback.strip():
        console.print(Text("\nfeedback", style="dim"))
        console.print(block(answer.feedback))


def _verdict(verdict: str | None, reason: str | None) -> Text:
    words = (verdict or "waiting").replace("_", " ")
    text = Text(words, style=_VERDICT_STYLES.get(verdict or "", ""))
    return text.append_text(Text(": ").append_text(line(reason, limit=500))) if reason else text


def _cases(console: Console, answer: Show) -> None:
    if not answer.cases:
        return
    table = columns("case", "score", "feedback", right=("score",), wide="feedback")
    for name, case in answer.cases.items():
        table.add_row(line(name, limit=40), number(case.score), line(case.feedback or ""))
    console.print()
    console.print(table)


def champions(console: Console, answer: Champions) -> None:
    """Print every champion and why it was promoted."""
    table = columns("", "candidate", "score", "made by", "why", right=("", "score"), wide="why")
    for one in answer.champions:
        why = one.evidence.reason if one.evidence else one.summary
        table.add_row(str(one.number), short(one.candidate), number(one.score), line(one.operator), line(why))
    console.print(table)
    console.print(Text(f"{answer.challenges} challenges in all", style="dim"))
    for refusal in answer.refused[-_LAST_REFUSALS:]:
        words = f"not promoted: {short(refusal.challenger)} (proposal {refusal.proposal}): {refusal.reason}"
        console.print(line(words, limit=400), style="dim")


def evaluations(console: Console, answer: Evaluations) -> None:
    """Print the runs of the evaluator."""
    heads = ("id", "candidate", "stage", "split", "purpose", "score", "seconds", "verdict")
    table = columns(*heads, right=("id", "score", "seconds"), wide="verdict")
    for run in answer.evaluations:
        table.add_row(
            str(run.id),
            short(run.candidate),
            line(run.stage if run.part is None else f"{run.stage} {run.part}", limit=12),
            run.split,
            run.purpose,
            number(run.score),
            f"{run.seconds:.2f}",
            _verdict(run.verdict, run.reason).append(" (rebased)" if run.rebased_from else "", "dim"),
        )
    console.print(table)
    if answer.total > len(answer.evaluations):
        words = f"the last {len(answer.evaluations)} of {answer.total}; --limit shows more"
        console.print(Text(words, style="dim"))
    for words in _fates(answer.staleness):
        console.print(Text(f"stale proposals: {words}", style="dim"))


def started(console: Console, answer: Started) -> None:
    """Print what `evolve init` wrote, what it chose, and what to do next."""
    console.print(Text("wrote ").append_text(line(answer.path, limit=1000)))
    if answer.evaluator:
        console.print(Text("wrote ").append_text(line(answer.evaluator, limit=1000)))
    table = facts()
    for key, value in answer.chosen.items():
        table.add_row(line(key), line(value, limit=500))
    console.print(table)
    for note in answer.notes:
        console.print(Text("look at: ", style="yellow").append_text(line(note, limit=500)))
    console.print("next: `evolve check` tries it, `evolve run` runs it")
