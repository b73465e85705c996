"""Prompts within their size: what goes first when room is short, and what never goes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reply_repo import ReplyRepo

from archives.records import CaseScore
from evolve.models.tokens import estimate
from evolve.operators.base import Order, Refused, Source, Tried
from evolve.operators.conversation import read
from evolve.operators.replies import ReplyError
from evolve.prompts.composing import Composer, Prompt
from evolve.prompts.files import Text, excerpt
from evolve.prompts.templates import PLACEHOLDERS, load

LIBRARY = "".join(
    f"def helper_{n}(first: int, key='{'s' * 40}'):\n    '''Helps {n}.'''\n    return first\n\n"
    for n in range(8)
)
FILES = {
    "core.py": "from lib import helpers\n\nVALUE = 1\n" + "x = 1\n" * 40,
    "other.py": "y = 2\n" * 60,
    "lib/helpers.py": LIBRARY,
    "lib/unused.py": "def unused(): pass\n",
    "evaluate.py": "secret = 1\n",
    "holdout/cases.py": "answers = [1]\n",
    "docs/notes.md": "# Notes\n\ntext\n\n## More\n",
}


class Desk:
    """A repository of a few files, and prompts about it."""

    def __init__(self, folder: Path) -> None:
        self.repo = ReplyRepo(folder, {path: text.encode() for path, text in FILES.items()})
        judging = ("evaluate.py", "holdout/cases.py")
        self.source = Source(
            self.repo.store, lambda path: path in ("core.py", "other.py"), lambda path: path not in judging
        )
        self.parent = self.repo.candidate(
            {"core.py": FILES["core.py"].replace("VALUE = 1", "VALUE = 2").encode()}
        )
        self.other = self.repo.candidate({"other.py": b"y = 3\n" * 60}, "Other idea")
        self.composer = Composer(load(), estimate)

    def order(self, **more: object) -> Order:
        facts = {
            "parent": self.parent,
            "inspirations": (self.other,),
            "parent_score": 1.0,
            "feedback": "went wrong",
            "cases": (CaseScore("q1", 1.0), CaseScore("q2", 0.0, "expected 3 rows")),
            "tried": (Tried("Tried this", "scored 0.5, 0.5 worse"),),
            "lessons": ("Small steps help",),
        }
        return self.repo.order(**{**facts, **more})

    def prompt(self, room: int, **more: object) -> Prompt:
        return self.composer.compose("edit", self.order(**more), self.source, lambda size: {}, room=room)

    def text(self, room: int, **more: object) -> str:
        return self.prompt(room, **more).messages[1]["content"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


def test_with_room_for_all_a_prompt_tells_all_but_what_judges(desk: Desk) -> None:
    text = desk.text(20_000)
    for words in (
        "VALUE = 2",
        "y = 2",
        "case q2: 0, expected 3 rows",
        "Tried this: scored 0.5",
        "Small steps help",
    ):
        assert words in text
    for words in (
        "Other idea",
        "-y = 2",
        "def helper_3(first: int, key='…')",
        "# Helps 3.",
        "lib/unused.py",
        "docs/notes.md",
    ):
        assert words in text
    for words in ("case q1", "secret", "answers", "evaluate.py", "holdout", "s" * 40):
        assert words not in text


def test_what_stays_the_same_comes_first(desk: Desk) -> None:
    one, two = desk.text(20_000), desk.text(20_000, feedback="all new", tried=(), inspirations=())
    assert one.index("lib/helpers.py") < one.index("y = 2") < one.index("VALUE = 2") < one.index("went wrong")
    assert one[: one.index("went wrong")] == two[: one.index("went wrong")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(room=st.integers(600, 6_000), repeats=st.integers(1, 300))
def test_no_prompt_is_larger_than_its_room(desk: Desk, room: int, repeats: int) -> None:
    try:
        prompt = desk.prompt(room, feedback="went wrong\n" * repeats, lessons=("Small steps help",) * repeats)
    except Refused as refusal:
        assert room < 1_000
        assert str(room) in str(refusal)
        return
    assert prompt.tokens <= room
    assert sum(estimate(message["content"]) for message in prompt.messages) == prompt.tokens


def test_in_a_short_prompt_the_map_goes_first_and_the_files_of_the_lineage_stay(desk: Desk) -> None:
    marks = {
        "map": "in outline",
        "others": "borrow their ideas",
        "core": "VALUE = 2",
        "verdict": "expected 3 rows",
    }
    gone: dict[str, int] = {}
    for room in range(4_000, 850, -50):
        text = desk.text(room)
        for name, mark in marks.items():
            if mark not in text:
                gone.setdefault(name, room)
    assert {"core", "verdict"}.isdisjoint(gone)
    assert gone["map"] >= gone.get("others", 0)


def test_a_file_that_is_too_long_is_shown_around_what_matters() -> None:
    lines = [f"line {n}" for n in range(1, 2001)]
    file = Text("src/long.py", "\n".join(lines), 10_000)
    part = excerpt(file, 'File "src/long.py", line 1500, in work', estimate, 400)
    assert part is not None
    assert part.tokens <= 400
    assert "\nline 1500\n" in part.text
    assert part.text.startswith("[lines 1 to ")
    assert "line 3\n" not in part.text
    marked = Text("a.py", "\n".join([*lines[:900], "# EVOLVE-BLOCK-START", *lines[900:]]), 10_000)
    shown = excerpt(marked, "", estimate, 300)
    assert shown is not None
    assert "EVOLVE-BLOCK-START" in shown.text


def test_a_file_shown_in_part_cannot_be_given_back_whole(tmp_path: Path) -> None:
    repo = ReplyRepo(tmp_path, {"long.py": b"x = 1\n" * 3000})
    source = Source(repo.store, lambda path: True)
    order = repo.order()
    prompt = Composer(load(), estimate).compose("edit", order, source, lambda size: {}, room=1500)
    assert prompt.parts == {"long.py"}
    assert "part of long.py" in prompt.messages[1]["content"]
    with pytest.raises(ReplyError, match="only a part of it was shown"):
        read("long.py\n```\nx = 2\n```\n", "stop", order, source, prompt.parts)


def test_every_template_uses_its_placeholders_and_no_others() -> None:
    from string import Template

    texts = load().texts
    for name, known in PLACEHOLDERS.items():
        used = set(Template(texts[name]).get_identifiers())
        assert used <= set(known), name
        assert set(known) - {"objective", "direction"} <= used, name


def test_outlines_are_made_of_what_parses() -> None:
    from evolve.prompts.outline import _outline

    ast.parse(LIBRARY)
    assert _outline("py", b"def broken(").lines == ("1 lines",)
    assert _outline("bin", b"\0\0").lines == ("2 bytes",)
    assert len(_outline("py", b"def f(): pass\n" * 200).lines) == 61
