"""Crossover: both changes survive, or it says what stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_store import Repo

from evolve.operators.base import Draft, Refused
from evolve.operators.crossover import Crossover
from evolve.operators.joining import merge_bytes
from evolve.operators.merging import merge_text

PROGRAM = "A = 1\nB = 2\n\n\ndef f(x):\n    return x + A\n\n\ndef g(x):\n    return x * B\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path, {"a.py": PROGRAM, "b.txt": "one\n", "run.sh": "#!/bin/sh\n"})


def cross(repo: Repo, ours: dict[str, str | None], theirs: dict[str, str | None]) -> Draft:
    parent, partner = repo.candidate(ours), repo.candidate(theirs)
    order = repo.order(parent=parent, partner=partner, ancestor=repo.base.id)
    return Crossover().propose(order, repo.source)


def test_changes_in_different_files_both_survive(repo):
    draft = cross(repo, {"a.py": PROGRAM.replace("x + A", "x - A")}, {"b.txt": "two\n", "new.txt": "new\n"})
    assert "x - A" in repo.read(draft, "a.py")
    assert (repo.read(draft, "b.txt"), repo.read(draft, "new.txt")) == ("two\n", "new\n")
    assert draft.summary.startswith("cross ")


def test_changes_in_different_functions_both_survive(repo):
    draft = cross(
        repo, {"a.py": PROGRAM.replace("x + A", "x - A")}, {"a.py": PROGRAM.replace("x * B", "x / B")}
    )
    assert "x - A" in repo.read(draft, "a.py")
    assert "x / B" in repo.read(draft, "a.py")


def test_neighbouring_constants_are_no_conflict(repo):
    draft = cross(
        repo, {"a.py": PROGRAM.replace("A = 1", "A = 7")}, {"a.py": PROGRAM.replace("B = 2", "B = 8")}
    )
    assert repo.read(draft, "a.py").startswith("A = 7\nB = 8\n")
    assert "by words" in draft.rationale


def test_a_deleted_file_stays_deleted(repo):
    draft = cross(repo, {"b.txt": None}, {"a.py": PROGRAM.replace("A = 1", "A = 7")})
    assert draft.tree is not None
    assert repo.store.read(draft.tree, "b.txt") is None


def test_the_same_place_changed_twice_is_refused_by_name(repo):
    with pytest.raises(Refused, match=r"both parents changed the same places of a\.py"):
        cross(repo, {"a.py": PROGRAM.replace("A = 1", "A = 7")}, {"a.py": PROGRAM.replace("A = 1", "A = 8")})


def test_a_file_deleted_here_and_changed_there_is_refused(repo):
    with pytest.raises(Refused, match=r"b\.txt"):
        cross(repo, {"b.txt": None}, {"b.txt": "two\n"})


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"b.txt": "two\n"}, {"b.txt": "two\n"}),
        ({"b.txt": "two\n", "a.py": "A = 3\n"}, {"b.txt": "two\n"}),
        ({"b.txt": "two\n"}, {"b.txt": "two\n", "a.py": "A = 3\n"}),
    ],
)
def test_a_parent_that_holds_the_other_is_refused(repo, ours, theirs):
    with pytest.raises(Refused, match="already holds"):
        cross(repo, ours, theirs)


def test_a_merge_by_words_must_compile_where_it_is_python():
    sides = (b"a b\n", b"c b\n", b"a d\n")
    assert merge_bytes("x.txt", *sides) == b"c d\n"
    assert merge_bytes("x.py", *sides) is None


def test_without_a_partner_it_is_refused(repo):
    with pytest.raises(Refused, match="second parent"):
        Crossover().propose(repo.order(), repo.source)


def test_words_of_one_line_are_merged():
    assert (
        merge_text("f(a=1, b=2, c=3)\n", "f(a=9, b=2, c=3)\n", "f(a=1, b=2, c=7)\n") == "f(a=9, b=2, c=7)\n"
    )
    assert merge_text("x = 1.5\n", "x = 2.5\n", "x = 3.5\n") is None


def test_insertions_at_one_place_contradict_each_other():
    assert merge_text("a\nb\n", "a\nx\nb\n", "a\ny\nb\n") is None
    assert merge_text("a\nb\n", "a\nx\nb\n", "a\nx\nb\n") == "a\nx\nb\n"


lines = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda xs: "".join(f"{x} {x}\n" for x in xs))


@settings(max_examples=300, deadline=None)
@given(lines, lines)
def test_merging_with_an_unchanged_side_gives_the_other(ancestor, changed):
    assert merge_text(ancestor, changed, ancestor) == changed
    assert merge_text(ancestor, ancestor, changed) == changed
    assert merge_text(ancestor, changed, changed) == changed


@settings(max_examples=300, deadline=None)
@given(lines, lines, lines)
def test_merging_is_symmetric(ancestor, ours, theirs):
    assert merge_text(ancestor, ours, theirs) == merge_text(ancestor, theirs, ours)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_edits_of_different_lines_both_survive(data):
    count = data.draw(st.integers(2, 8))
    ancestor = [f"N{i} = {i}\n" for i in range(count)]
    one, two = data.draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True))
    ours, theirs, both = list(ancestor), list(ancestor), list(ancestor)
    ours[one] = both[one] = f"N{one} = 100\n"
    theirs[two] = both[two] = f"N{two} = 200\n"
    assert merge_text("".join(ancestor), "".join(ours), "".join(theirs)) == "".join(both)
