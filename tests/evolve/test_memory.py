"""Lessons: which ones prompts carry, and how true and false ones fare."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.records import Basis, Lesson, Proposal
from evolve.memory import CARRIED, LEFT_OUT, Memory, merged
from evolve.reflection import conclusions


def lesson(id: int, **more: object) -> Lesson:
    return Lesson(id, f"claim of number {id} {'word ' * id}".strip(), "packing.py", **more)  # type: ignore[arg-type]


def taught(effect: float, outcomes: int, seed: int = 0) -> tuple[Memory, set[str]]:
    """A memory of one lesson that changes the share of success by `effect`, and the standings it had."""
    draw = random.Random(seed)
    memory, words = Memory([lesson(1)]), set()
    for number in range(1, outcomes + 1):
        carried = memory.draw(draw)
        memory.learn(carried, draw.random() < 0.25 + effect * len(carried), number)
        words.add(memory.standing(1).word)
    return memory, words


def test_a_true_lesson_rises_and_a_false_one_fades_within_250_outcomes():
    true = [taught(0.15, 250, seed) for seed in range(40)]
    assert sum("supported" in words for _, words in true) >= 36
    assert sum(memory.standing(1).word == "fading" for memory, _ in true) <= 2
    false = [taught(-0.15, 250, seed) for seed in range(40)]
    assert sum("fading" in words for _, words in false) >= 36
    assert all(memory.standing(1).word != "supported" for memory, _ in false)


def test_however_sure_it_is_some_prompts_are_left_without_a_lesson():
    memory, _ = taught(0.3, 400)
    draw = random.Random(1)
    carried = sum(bool(memory.draw(draw)) for _ in range(500)) / 500
    assert abs(carried - (1 - LEFT_OUT)) < 0.05


def test_pinned_lessons_are_always_carried_and_forgotten_ones_never():
    memory = Memory([lesson(1, state="pinned"), lesson(2, state="forgotten"), lesson(3)])
    drawn = [memory.draw(random.Random(seed)) for seed in range(50)]
    assert all(ids[0] == 1 and 2 not in ids for ids in drawn)
    assert any(3 in ids for ids in drawn)


@given(st.integers(0, 40), st.integers(0, 2**32))
def test_a_prompt_carries_few_and_each_once(number: int, seed: int):
    memory = Memory(lesson(id) for id in range(1, number + 1))
    drawn = memory.draw(random.Random(seed))
    assert len(drawn) <= CARRIED and len(set(drawn)) == len(drawn)
    assert drawn == memory.draw(random.Random(seed))


def test_a_lesson_hears_only_of_what_came_after_it():
    memory = Memory([lesson(1, made=5)])
    memory.learn((), True, 5)
    assert memory.standing(1).effect == 0
    memory.learn((1,), True, 6)
    assert (memory.standing(1).uses, memory.standing(1).wins) == (1, 1)


def test_proposals_that_ask_no_model_say_nothing_about_lessons():
    memory = Memory([lesson(1)])
    offline = Proposal(1, "tune", "a", Basis(0, 0), outcome="candidate", gain=1.0, admitted=1)
    memory.hear(offline)
    assert memory.standing(1).effect == 0


def test_two_claims_that_say_the_same_are_one():
    memory = Memory([Lesson(1, "Smaller steps near the border help.", "packing.py", state="forgotten")])
    assert memory.same("smaller steps near the BORDER help", "packing.py") is not None
    assert memory.same("Larger circles first waste the corners", "packing.py") is None
    more = merged(memory.lessons[1], (4, 2), (9,), (3,))
    assert (more.supports, more.contradicts, more.sources) == ((2, 4), (9,), (3,))


def test_conclusions_are_read_out_of_an_answer_and_name_what_was_seen():
    reply = """Here you are [as asked]:
    [{"claim": "Sorting first helps every packer.", "scope": "pack()", "for": [3, 99], "against": [3, 4]},
     {"lesson": 7, "for": [], "against": [4]}, {"lesson": 8, "for": [3]},
     {"claim": "Nobody saw this one happen.", "for": [77]}, {"claim": "Too short", "for": [3]}, 5]"""
    first, second = conclusions(reply, {3, 4}, {7})
    assert (first.claim, first.scope) == ("Sorting first helps every packer.", "pack()")
    assert (first.supports, first.contradicts) == ((3,), (4,))
    assert (second.lesson, second.supports, second.contradicts) == (7, (), (4,))


@pytest.mark.parametrize(
    "reply", ["", "no JSON", "[", "[1, 2]", "{}", "[" * 5000, '[{"claim": null, "for": true}]']
)
def test_an_answer_without_lessons_gives_none(reply: str):
    assert conclusions(reply, {1}, set()) == []


@given(st.text())
def test_no_answer_breaks_the_reading(reply: str):
    assert conclusions(reply, {1}, {1}) == []
