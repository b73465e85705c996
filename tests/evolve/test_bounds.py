"""An evaluation is cut short only where the rest cannot matter, or hardly ever would."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.bounds import Bar, Outlook
from evolve.statistics import DrawProcess

SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1), min_size=1, max_size=12)


@given(
    SCORES,
    st.floats(-0.2, 1.2) | st.none(),
    st.sampled_from([1, -1]),
    st.integers(0, 12),
    st.booleans(),
    st.randoms(),
)
@settings(max_examples=300, deadline=None)
def test_whoever_reaches_the_bar_is_never_given_up_and_who_does_not_is_in_the_end(
    scores: list[float], bar: float | None, sign: int, known: int, beat: bool, random: object
) -> None:
    cases = {f"q{n}": score for n, score in enumerate(scores)}
    names = list(cases)
    begun = dict(itertools.islice(cases.items(), known))
    order = [name for name in names if name not in begun]
    mean = sign * math.fsum(scores) / len(scores)
    bar = mean if bar is None else bar  # a tie
    outlook = Outlook(begun, order, (0.0, 1.0), Bar(bar, "bar", beat), sign)
    good = mean > bar + 1e-11 if beat else mean >= bar
    random.shuffle(order)  # type: ignore[attr-defined]
    for name in order:
        if good:
            assert outlook.missed is None
        outlook.hear({name: cases[name]})
    if good or mean < bar - 1e-11 or (beat and mean == bar):
        assert (outlook.missed is None) == good


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=2, max_size=6), st.sampled_from([0.5, 0.2])
)
@settings(max_examples=80, deadline=None)
def test_over_all_orders_a_true_hypothesis_is_refuted_no_more_often_than_stated(
    numbers: list[float], alpha: float
) -> None:
    mean = math.fsum(numbers) / len(numbers)
    refuted, capitals = 0, [0.0] * len(numbers)
    orders = list(itertools.permutations(numbers))
    for order in orders:
        process = DrawProcess(len(numbers), mean)
        ever = False
        for step, number in enumerate(order):
            process.add(number)
            capitals[step] += math.exp(process.log_e)
            ever = ever or process.log_e >= -math.log(alpha)
        refuted += ever
    assert refuted <= alpha * len(orders)
    assert all(capital <= len(orders) * (1 + 1e-6) for capital in capitals)


def test_confidence_gives_up_a_hopeless_candidate_long_before_certainty() -> None:
    order = [f"q{n}" for n in range(60)]
    after = {}
    for confidence in (None, 0.95):
        outlook = Outlook({}, order, (0, 1), Bar(0.5, "the champion's"), confidence=confidence)
        for n, name in enumerate(order):
            outlook.hear({name: 0.1})
            if outlook.missed is not None:
                after[confidence] = n + 1
                break
    assert after[0.95] < 15 < after[None]


def test_confidence_counts_cases_in_the_drawn_order_only() -> None:
    order = [f"q{n}" for n in range(60)]
    outlook = Outlook({}, order, (0, 1), Bar(0.5, "bar"), confidence=0.95)
    for name in order[1:25]:  # the first one is still running
        outlook.hear({name: 0.0})
    assert outlook.missed is None
    outlook.hear({order[0]: 0.0})
    assert outlook.missed is not None


def test_what_lies_outside_is_refused() -> None:
    process = DrawProcess(1, 0.5)
    with pytest.raises(ValueError, match="scale"):
        process.add(1.5)
    process.add(1.0)
    with pytest.raises(ValueError, match="more numbers"):
        process.add(1.0)
