from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evolve.answers import Archive, ArmRecord, Axis, Edge, Elite, Lineage, Node
from evolve.views import families, terminal
from evolve.views.patches import coloured
from evolve.views.words import block, clean, console, gain, line, number, seconds


def screen(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def name(number: int) -> str:
    return f"{number:040x}"[::-1]


def node(number: int, **details: object) -> Node:
    facts: dict[str, object] = {
        "candidate": name(number),
        "commit": name(number),
        "score": float(number),
        "operator": "tune",
        "number": number,
        "summary": "changed a number",
        "verdict": "judged",
        "champion": False,
        "elite": True,
    }
    return Node(**(facts | details))  # type: ignore[arg-type]


def ancestry(parents: dict[int, int], **details: object) -> Lineage:
    edges = [
        Edge(parent=name(p), child=name(c), kind="parent", gain=1.0, proposal=c) for c, p in parents.items()
    ]
    nodes = [node(0, operator="base"), *(node(number, **details) for number in parents)]
    return Lineage(candidate=None, nodes=nodes, edges=edges)


@given(st.text())
def test_cleaned_text_holds_nothing_a_terminal_obeys(text: str) -> None:
    found = clean(text)
    assert not [c for c in found if c not in "\n\t" and not c.isprintable() and not c.isspace()]
    assert "\x1b" not in found
    assert "\r" not in found


@given(st.text(), st.integers(1, 50))
def test_a_line_is_one_line_of_bounded_length(text: str, limit: int) -> None:
    found = line(text, limit=limit).plain
    assert len(found) <= limit
    assert len(found.splitlines()) <= 1


@given(st.text(st.characters(blacklist_characters="\x1b")))
def test_markup_is_shown_as_it_is(text: str) -> None:
    console = screen(10_000)
    console.print(line("[bold]" + text[:50], limit=1000), no_wrap=True)
    assert shown(console).startswith("[bold]")


def test_a_long_block_says_how_much_is_left_out() -> None:
    found = block("a\n" * 100, limit=3).plain.splitlines()
    assert found[:3] == ["a", "a", "a"]
    assert "97 more" in found[3]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (2.0, "2"), (1 / 3, "0.3333333"), ("tree", "tree"), ("\x1b", "\\x1b")]
)
def test_numbers_are_short(value: float | str | None, text: str) -> None:
    assert number(value) == text


def test_a_gain_always_shows_its_sign() -> None:
    assert [gain(value).plain for value in (1.5, -2.0, 0.0, None)] == ["+1.5", "-2", "+0", ""]


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5 s"), (59.9, "59.9 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")]
)
def test_times_are_for_people(value: float, text: str) -> None:
    assert seconds(value) == text


def test_a_diff_keeps_its_text_and_obeys_nothing() -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-[red]a\n+\x1b[31mb\n"
    assert coloured(diff).plain == diff.replace("\x1b", "\\x1b")


def test_a_long_line_of_descent_needs_no_indentation() -> None:
    console = screen()
    families.lineage(console, ancestry({number: number - 1 for number in range(1, 300)}))
    rows = shown(console).splitlines()
    assert len(rows) == 300
    assert all(name(number)[:10] in rows[number] for number in range(300))


def test_every_candidate_is_shown_once_however_bushy_and_narrow() -> None:
    parents = {number: max(number - 2, 0) if number % 2 else number // 3 for number in range(1, 200)}
    for width in (40, 80, 200):
        console = screen(width)
        families.lineage(console, ancestry(parents))
        text = shown(console)
        assert len(text.splitlines()) == 200
        assert max(map(len, text.splitlines())) <= width
        if width == 200:
            assert all(f"  {name(number)[:10]}" in text for number in range(200))


def test_a_fork_is_indented_under_its_parent() -> None:
    console = screen()
    families.lineage(console, ancestry({1: 0, 2: 0, 3: 1}))
    rows = shown(console).splitlines()
    indents = {
        row.split("  ")[1][:10] if "  " in row else "": len(row) - len(row.lstrip("│├└─ ")) for row in rows
    }
    assert len(rows) == 4
    assert max(indents.values()) > 0


def test_candidates_that_lead_to_no_elite_are_counted_and_not_shown() -> None:
    found = ancestry({1: 0, 2: 1, 3: 0}, elite=False)
    nodes = [*found.nodes[:2], node(2, champion=True, elite=False), *found.nodes[3:]]
    found = Lineage(candidate=None, nodes=nodes, edges=found.edges)
    console = screen()
    families.lineage(console, found)
    text = shown(console)
    assert name(3)[:10] not in text
    assert "1 candidates" in text
    console = screen()
    families.lineage(console, found, whole=True)
    assert name(3)[:10] in shown(console)


def elite(cell: list[int | str], score: float, number: int = 1) -> Elite:
    return Elite(
        cell=cell,
        rank=1,
        candidate=name(number),
        score=score,
        measures={"a": 1.0, "b": "x"},
        operator="tune",
        champion=False,
    )


def board(*elites: Elite) -> Archive:
    axes = [Axis(name=axis, bins=10, edges=None, values=None) for axis in ("a", "b")]
    return Archive(axes=axes, depth=1, coverage=0.1, qd_score=1.0, elites=list(elites))


def test_two_axes_are_shown_as_a_board() -> None:
    console = screen()
    families.archive(console, board(elite([0, 1], 5.0), elite([2, 3], 7.5, 2)))
    text = shown(console)
    assert "best score by cell" in text
    assert text.count("·") == 2


def test_a_board_of_numbers_and_words_is_sorted_without_error() -> None:
    console = screen()
    families.archive(console, board(elite([0, "x"], 5.0), elite(["missing", "y"], 7.5, 2)))
    assert "missing" in shown(console)


def test_an_empty_archive_is_shown() -> None:
    console = screen()
    families.archive(console, board())
    assert "0 cells" in shown(console)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert os.environ["NO_COLOR"]
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system="standard")
    families.lineage(console, ancestry({1: 0}))
    assert "\x1b[3" not in shown(console).replace("\x1b[36", "\x1b[3")


def test_without_a_terminal_no_column_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    model, led = (
        "openrouter/some-provider/a-model-with-a-long-name-2026-12",
        {"candidate": 12, "duplicate": 3},
    )
    record = ArmRecord(
        kind="operator",
        name="edit",
        model=model,
        proposals=15,
        improved=4,
        promoted=2,
        reward=1.5,
        usd=0.25,
        share=1.0,
        value=0.1,
        outcomes=led,
    )
    terminal.arms(console(), [record])
    (row,) = [text for text in capsys.readouterr().out.splitlines() if text.startswith("edit")]
    assert model in row and "12 candidate, 3 duplicate" in row
