from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evolve.budget import Budget

STEPS = st.lists(st.tuples(st.sampled_from(["start", "end", "drop"]), st.integers(1, 5)), max_size=200)


@given(limit=st.integers(0, 40), steps=STEPS)
def test_no_schedule_of_reservations_spends_more_than_the_limit(
    limit: int, steps: list[tuple[str, int]]
) -> None:
    budget = Budget({"evaluations": limit})
    held: list[int] = []
    for step, amount in steps:
        if step == "start" and budget.reserve(evaluations=amount):
            held.append(amount)
        elif step != "start" and held:
            done = held.pop()
            budget.release(evaluations=done)
            if step == "end":
                budget.spend(evaluations=done)
        assert budget.spent.get("evaluations", 0) + sum(held) <= limit
        assert budget.left("evaluations") == limit - budget.spent.get("evaluations", 0) - sum(held)


def test_a_reservation_of_several_limits_is_all_or_nothing() -> None:
    budget = Budget({"evaluations": 5, "tokens": 10})
    assert not budget.reserve(evaluations=1, tokens=11)
    assert budget.left("evaluations") == 5


def test_the_reason_names_the_limit_that_was_met() -> None:
    budget = Budget({"evaluations": 2, "wall": 60.0})
    assert budget.used_up() is None
    budget.spend(evaluations=2)
    assert budget.used_up() == "the budget of 2 evaluations is used up"
    assert budget.left("proposals") == float("inf")
