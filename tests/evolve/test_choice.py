from __future__ import annotations

from evolve.choice import Choice
from evolve.randomness import rng


def drawn(choice: Choice, name: str, draws: int = 400) -> float:
    return sum(choice.draw(rng(0, n, "test")) == name for n in range(draws)) / draws


def test_what_wins_is_tried_more_and_nothing_is_given_up() -> None:
    choice = Choice({"good": 1.0, "bad": 1.0})
    for _ in range(60):
        choice.learn("good", 0.6)
        choice.learn("bad", 0.0)
    assert drawn(choice, "good") > 0.7
    assert drawn(choice, "bad") > 0.05


def test_an_arm_that_ran_dry_loses_its_share() -> None:
    choice = Choice({"early": 1.0, "late": 1.0})
    for _ in range(50):
        choice.learn("early", 1.0)
    before = drawn(choice, "early")
    for _ in range(150):
        choice.learn("early", 0.0)
    assert drawn(choice, "early") < before - 0.2


def test_shares_hold_while_nothing_is_known() -> None:
    choice = Choice({"one": 3.0, "other": 1.0})
    assert 0.65 < drawn(choice, "one") < 0.85


def test_only_what_is_allowed_is_drawn() -> None:
    choice = Choice({"one": 1.0, "other": 1.0})
    assert {choice.draw(rng(0, n, "t"), {"other": True}) for n in range(20)} == {"other"}
    assert choice.draw(rng(0, 0, "t"), {}) is None
