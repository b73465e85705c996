"""The ancestry as a tree, and the archive as a table.

A campaign of a hundred accepted steps would need four hundred columns if every step were indented. So a step
that is the only one from its parent stands below it in the same branch, a branch is indented only where the
ancestry forks, and beyond what the terminal is wide branches stay at the last level and name their parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from evolve.answers import Archive, Edge, Lineage, Node
from evolve.views.terminal import columns
from evolve.views.words import clean, gain, line, number, short

_INDENT = 4
_LABEL = 44
_MOST_COLUMNS = 12


def lineage(console: Console, answer: Lineage, whole: bool = False) -> None:
    """Print an ancestry.

    Unless `whole`, of one candidate only those from which it descends, not those that inspired it; of a
    campaign only what leads to its elites and champion.
    """
    shown = {node.candidate for node in answer.nodes} if whole else leading(answer)
    console.print(tree(answer, shown, console), overflow="ellipsis", no_wrap=True)
    if any(edge.kind == "crossover" and edge.child in shown for edge in answer.edges):
        console.print(Text("× second parent of a merge", style="dim"))
    hidden = len(answer.nodes) - len(shown)
    if hidden:
        which = "lead to no elite" if answer.candidate is None else "only inspired a step"
        words = f"{hidden} candidates that {which} are not shown; --all shows them"
        console.print(Text(words, style="dim"))


def leading(answer: Lineage) -> set[str]:
    """The candidate in question, or the elites and the champion, and all from which they descend."""
    above: dict[str, list[str]] = defaultdict(list)
    for edge in answer.edges:
        if edge.kind in ("parent", "crossover"):
            above[edge.child].append(edge.parent)
    todo = [node.candidate for node in answer.nodes if node.elite or node.champion or node.number == 0]
    if answer.candidate is not None:
        todo = [answer.candidate]
    found: set[str] = set()
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo.extend(above[one])
    return found


def tree(answer: Lineage, shown: Collection[str], console: Console) -> Tree:
    """The steps among the candidates in `shown`, as a tree along first parents."""
    into: dict[str, Edge] = {}
    for edge in answer.edges:
        if edge.kind in ("parent", "crossover") and edge.parent in shown:
            into.setdefault(edge.child, edge)
    partners = {edge.child: edge.parent for edge in answer.edges if edge.kind == "crossover"}
    forks: dict[str, int] = defaultdict(int)
    for child, step in into.items():
        forks[step.parent] += child in shown
    deepest = max((console.width - _LABEL) // _INDENT, 1)
    plain = console.options.ascii_only
    root = Tree("", hide_root=True, guide_style="dim")
    branches: dict[str, list[Tree]] = {}
    for node in answer.nodes:
        if node.candidate not in shown:
            continue
        edge_in = into.get(node.candidate)
        above = branches.get(edge_in.parent, [root]) if edge_in else [root]
        label = _label(node, edge_in, partners.get(node.candidate), plain)
        if edge_in and len(above) > 1 and forks[edge_in.parent] == 1:
            assert isinstance(above[-1].label, Text)
            above[-1].label.append("\n").append_text(label)
            branches[node.candidate] = above
            continue
        if len(above) > deepest:
            above = above[:-1]
            label.append(f"  from {short(edge_in.parent if edge_in else None)}", style="dim")
        branches[node.candidate] = [*above, above[-1].add(label)]
    return root


def _label(node: Node, edge: Edge | None, partner: str | None, plain: bool) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    if edge:
        text.append("v " if plain else "↓ ", style="dim")
        text.append_text(gain(edge.gain))
        text.append(" to " if edge.gain is not None else "")
    words = number(node.score) if node.verdict == "judged" else (node.verdict or "waiting").replace("_", " ")
    text.append(words, style="bold" if node.champion else "")
    text.append(f"  {short(node.candidate)}", style="cyan")
    text.append("  champion" if node.champion else "", style="bold green")
    if partner:
        text.append(f"  x {short(partner)}" if plain else f"  × {short(partner)}")
    text.append(f"  {clean(node.operator)}")
    if node.summary:
        text.append(": ").append_text(line(node.summary, limit=100))
    return text


def archive(console: Console, answer: Archive) -> None:
    """Print the archive: two axes with few columns as a chessboard of scores, and the cells as rows."""
    names = ", ".join(clean(axis.name) for axis in answer.axes) or "none"
    cells = len({tuple(elite.cell) for elite in answer.elites})
    console.print(
        Text(
            f"axes: {names}; {cells} cells, {answer.coverage:.0%} filled; QD-score {number(answer.qd_score)}"
        )
    )
    _board(console, answer)
    heads = [str(line(axis.name, limit=24)) for axis in answer.axes]
    table = columns("cell", *heads, "score", "candidate", "made by", right=(*heads, "score"), wide="made by")
    for elite in answer.elites:
        table.add_row(
            Text(",".join(clean(str(part)) for part in elite.cell)) if elite.rank == 1 else "",
            *(Text(number(elite.measures.get(axis.name))) for axis in answer.axes),
            number(elite.score),
            short(elite.candidate),
            line(elite.operator + (", champion" if elite.champion else "")),
        )
    console.print(table)


def _board(console: Console, answer: Archive) -> None:
    best = {tuple(elite.cell): elite for elite in answer.elites if elite.rank == 1}
    if len(answer.axes) != 2 or len(best) < 2:
        return
    down = sorted({cell[0] for cell in best}, key=str if any(isinstance(c[0], str) for c in best) else None)
    across = sorted({cell[1] for cell in best}, key=str if any(isinstance(c[1], str) for c in best) else None)
    if len(across) > min(_MOST_COLUMNS, (console.width - 12) // 8):
        return
    heads = [clean(str(part))[:7] for part in across]
    corner = f"{clean(answer.axes[0].name)[:10]}"
    table = columns(corner, *heads, right=tuple(heads))
    for row in down:
        scores = []
        for column in across:
            elite = best.get((row, column))
            scores.append(
                Text(f"{elite.score:.4g}", "bold" if elite.champion else "") if elite else Text("·")
            )
        table.add_row(clean(str(row)), *scores)
    console.print(Text(f"best score by cell; across: {clean(answer.axes[1].name)}", style="dim"))
    console.print(table)
    console.print()
