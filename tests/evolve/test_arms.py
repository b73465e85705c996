"""Which operator works next and which model it asks: by gain per cost, the cheap first, the dear when stuck."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.records import Basis, Proposal
from evolve.arms import PATIENCE, Arms, Pair
from evolve.randomness import rng

PAIRS = (Pair("tune", 1.0), Pair("edit", 1.0, "cheap", 0.5), Pair("edit", 1.0, "dear", 5.0))
USABLE = {"tune": True, "edit": True}


def proposal(
    number: int, operator: str, model: str | None, reward: float, outcome: str = "candidate"
) -> Proposal:
    return Proposal(
        number, operator, "p", Basis(0, 0), state="done", outcome=outcome, model=model, reward=reward
    )  # type: ignore[arg-type]


def drawn(arms: Arms, draws: int = 400) -> Counter[str]:
    pairs = [arms.draw(rng(0, number, "test"), USABLE) for number in range(draws)]
    return Counter(pair.name for pair in pairs if pair is not None)


def test_cheap_models_come_first_and_dear_ones_when_nothing_is_won() -> None:
    arms = Arms(PAIRS)
    fresh = drawn(arms)
    assert fresh["edit cheap"] > 3 * fresh["edit dear"] > 0
    for number in range(2 * PATIENCE):
        arms.learn(proposal(number, "tune", None, 0.0), None)
    stuck = drawn(arms)
    assert stuck["edit dear"] > 3 * stuck["edit cheap"] > 0
    arms.learn(proposal(99, "edit", "dear", 1.0), 0.01)
    assert arms.stalled == 0


def test_of_two_that_win_alike_the_one_that_costs_less_is_chosen_more() -> None:
    arms = Arms([Pair("edit", 1.0, "one"), Pair("edit", 1.0, "other")])
    for number in range(60):
        arms.learn(proposal(number, "edit", "one", 0.4), 0.001)
        arms.learn(proposal(number, "edit", "other", 0.4), 0.1)
    found = drawn(arms)
    assert found["edit one"] > 1.5 * found["edit other"]


def test_replies_that_cannot_be_used_cost_an_arm_its_share() -> None:
    arms = Arms([Pair("edit", 1.0, "good"), Pair("edit", 1.0, "bad")])
    for number in range(60):
        arms.learn(proposal(number, "edit", "good", 0.4), None)
        arms.learn(proposal(number, "edit", "bad", 0.0, "unchanged"), None)
    found = drawn(arms)
    assert found["edit good"] > 3 * found["edit bad"] > 0


def test_an_operator_that_cannot_be_used_now_is_not_drawn() -> None:
    arms = Arms(PAIRS)
    names = {arms.draw(rng(0, number, "t"), {"edit": True}) for number in range(20)}
    assert all(pair is not None and pair.operator == "edit" for pair in names)
    assert arms.draw(rng(0, 0, "t"), {}) is None


@pytest.mark.parametrize("model", ["gone", None])
def test_a_model_that_left_the_pool_teaches_nobody_and_breaks_nothing(model: str | None) -> None:
    arms = Arms(PAIRS)
    arms.learn(proposal(1, "edit", model, 0.5), 0.1)
    assert all(arm.tried == 0 for arm in arms.choice.arms.values())


outcomes = st.tuples(
    st.sampled_from(["tune", "edit"]),
    st.sampled_from(["cheap", "dear", None]),
    st.floats(0, 1),
    st.none() | st.floats(0, 100),
)


@given(st.lists(outcomes, max_size=40))
def test_every_arm_keeps_a_chance_and_the_same_record_gives_the_same_draw(
    record: list[tuple[str, str | None, float, float | None]],
) -> None:
    first, second = Arms(PAIRS), Arms(PAIRS)
    for arms in (first, second):
        for number, (operator, model, reward, usd) in enumerate(record):
            arms.learn(proposal(number, operator, model, reward), usd)
    assert sum(first.shares().values()) == pytest.approx(1.0)
    assert min(first.shares().values()) > 0.0005
    assert first.draw(rng(1, 1, "x"), USABLE) == second.draw(rng(1, 1, "x"), USABLE)
