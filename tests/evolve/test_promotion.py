"""When a challenger replaces the champion, and when it does not."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.promotion import (
    Gate,
    Guard,
    Levels,
    Pair,
    guarded,
    guards,
    holdout_allows,
    looks_noisy,
    orientation,
    strict,
)
from evolve.rulings import compared
from evolve.statistics import lond_level


def gate_of(gains: list[float], level: float = 0.05, **options: object) -> Gate:
    gate = Gate(level, **options)  # type: ignore[arg-type]
    for i, gain in enumerate(gains):
        gate.add(Pair(f"p{i}", 0.5 + gain, 0.5))
    return gate


def gate_on(
    seed: int, gain: float, noise: float, level: float, n_max: int, span: tuple[float, float] | None
) -> Gate:
    draw = random.Random(seed)
    gate = Gate(level, n_max, span)
    while gate.decision == "undecided":
        difference = max(-1.0, min(1.0, draw.gauss(gain, noise)))
        gate.add(Pair(f"p{gate.pairs}", difference, 0.0))
    return gate


def test_a_better_score_is_promoted_in_the_words_of_its_direction() -> None:
    up, down = strict(12, 10), strict(12, 20, sign=-1)
    assert up.promoted and up.reason == "12 is higher than the champion's 10"
    assert down.promoted and down.reason == "12 is lower than the champion's 20"
    assert down.evidence["gain"] == 8 and down.evidence["challenger"] == 12


def test_a_worse_score_keeps_the_champion() -> None:
    assert strict(10, 12).reason == "10 is lower than the champion's 12"
    assert not strict(10, 12).promoted
    assert not strict(30, 20, sign=-1).promoted


@pytest.mark.parametrize("sign", [1, -1])
def test_a_tie_keeps_the_champion(sign: int) -> None:
    for score in (12.0, 0.0, -3.0):
        ruling = strict(score, score, sign)
        assert not ruling.promoted and "tie keeps the champion" in ruling.reason


def test_rounding_is_no_gain_but_a_tiny_gain_is() -> None:
    assert not strict(0.1 + 0.2, 0.3).promoted
    tiny = strict(1.00000001, 1.0)
    assert tiny.promoted and tiny.reason == "1.00000001 is higher than the champion's 1"


def test_the_order_of_cases_does_not_matter() -> None:
    cases = {f"c{i}": 0.1 * i for i in range(30)}
    backwards = dict(reversed(cases.items()))
    assert not strict(cases, backwards).promoted and not strict(backwards, cases).promoted


def test_a_gain_below_the_minimum_keeps_the_champion() -> None:
    small = strict(10.4, 10.0, min_gain=0.5)
    assert not small.promoted and "less than the minimum gain of 0.5" in small.reason
    assert strict(10.5, 10.0, min_gain=0.5).promoted
    assert not strict(9.6, 10.0, sign=-1, min_gain=0.5).promoted


def test_only_the_same_cases_are_compared() -> None:
    assert strict({"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 1.0}).promoted
    apart = strict({"a": 9.0}, {"a": 1.0, "b": 1.0})
    assert not apart.promoted and "'b' only for the champion" in apart.reason
    assert not strict({"a": 9.0}, 1.0).promoted
    assert not strict({}, {}).promoted


def test_scores_that_are_not_finite_are_never_compared() -> None:
    with pytest.raises(ValueError, match="finite"):
        strict(math.nan, 1.0)
    with pytest.raises(ValueError, match="finite"):
        strict({"a": math.inf}, {"a": 1.0})
    with pytest.raises(ValueError, match="finite"):
        Gate(0.05).add(Pair("p", math.nan, 1.0))


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([1, -1]), st.floats(0, 10))
def test_of_two_candidates_at_most_one_beats_the_other(
    one: float, other: float, sign: int, least: float
) -> None:
    assert not (strict(one, other, sign, least).promoted and strict(other, one, sign, least).promoted)


def test_a_guarded_metric_that_got_worse_forbids_the_promotion() -> None:
    against = guards(["accuracy", "-ms"], {"accuracy": 0.9, "ms": 14.0}, {"accuracy": 0.9, "ms": 12.0})
    ruling = strict(2, 1, against=against)
    assert not ruling.promoted
    assert ruling.reason.endswith("the guarded metric ms got worse: 14 is higher than 12")
    assert ruling.evidence["guards"] == {"accuracy": [0.9, 0.9], "ms": [14.0, 12.0]}
    assert strict(2, 1, against=against[:1]).promoted


def test_guards_follow_the_direction_of_the_objective_unless_told_otherwise() -> None:
    made = guards(["bytes", "+hits", "-misses"], {}, {}, sign=-1)
    assert [(guard.name, guard.sign) for guard in made] == [("bytes", -1), ("hits", 1), ("misses", -1)]


def test_a_guarded_metric_that_vanished_forbids_and_a_new_one_does_not() -> None:
    assert "missing" in str(Guard("ms", None, 3.0).objection)
    assert Guard("ms", 3.0, None).objection is None


def test_guards_never_promote() -> None:
    assert not guarded(strict(1, 2), [Guard("ms", 9.0, 1.0)]).promoted


def test_noise_is_what_differs_by_more_than_rounding() -> None:
    assert not looks_noisy([0.3, 0.1 + 0.2, 0.3, 0.3, 0.3])
    assert looks_noisy([0.3, 0.3, 0.3, 0.3, 0.3001])
    assert not looks_noisy([]) and not looks_noisy([1.0])
    assert orientation("maximize") == 1 and orientation("minimize") == -1


def test_a_deterministic_holdout_must_not_be_worse() -> None:
    assert holdout_allows(1.0, 1.0) == (True, "holdout: 1 equals the champion's 1")
    allowed, reason = holdout_allows(3.0, 2.0, sign=-1)
    assert not allowed and reason == "holdout: 3 is higher than the champion's 2, which is worse"
    assert holdout_allows(1.0, 2.0, sign=-1)[0]
    assert not holdout_allows({"a": 1.0}, {"b": 1.0})[0]


def test_a_noisy_holdout_forgives_one_standard_error_and_no_more() -> None:
    champion = {f"c{i}": 1.0 for i in range(9)}
    slightly = {f"c{i}": 1.0 + (0.3 if i % 2 else -0.3) for i in range(9)}
    clearly = {f"c{i}": 0.5 + 0.1 * (i % 2) for i in range(9)}
    assert holdout_allows(slightly, champion, noisy=True)[0]
    assert not holdout_allows(slightly, champion, noisy=False)[0]
    assert not holdout_allows(clearly, champion, noisy=True)[0]
    assert not holdout_allows(0.99, 1.0, noisy=True)[0], "one score says nothing of its noise"


def test_levels_are_those_of_e_lond() -> None:
    assert Levels().level(3, 1) == lond_level(3, 1, 0.05)
    assert Levels(0.1).level(1, 0) == lond_level(1, 0, 0.1)


def test_a_gate_promotes_at_the_first_pair_that_is_proof() -> None:
    gate = gate_of([0.1] * 6, level=1 / 18)
    assert gate.decision == "promote" and gate.pairs == 6
    assert gate_of([0.1] * 5, level=1 / 18).decision == "undecided"
    assert gate.reason == "higher by 0.1 on average in 6 pairs (e = 18.1, needed 18)"
    assert gate.ruling().promoted and gate.ruling().rule == "evalue"


def test_a_gate_says_lower_where_lower_is_better() -> None:
    assert gate_of([0.1] * 6, level=1 / 18, sign=-1).reason.startswith("lower by 0.1 on average")
    assert "average change -0.1" in gate_of([0.1] * 3, level=1 / 18, sign=-1).reason


def test_a_gate_rejects_after_the_last_pair() -> None:
    gate = gate_of([0.1, -0.1] * 5, n_max=6)
    assert gate.decision == "reject" and gate.pairs == 6
    assert gate.reason.startswith("not proven better in 6 pairs")


@pytest.mark.parametrize("span", [None, (0.0, 1.0)])
def test_a_hopeless_gate_stops_long_before_the_last_pair(span: tuple[float, float] | None) -> None:
    gate = gate_of([-0.3, -0.2, 0.05] * 20, n_max=300, span=span)
    assert gate.decision == "reject" and gate.pairs < 30
    assert "could hardly prove it" in gate.reason


def test_equal_scores_are_never_promoted_and_not_looked_at_for_ever() -> None:
    gate = gate_of([0.0] * 300, n_max=300)
    assert gate.decision == "reject" and gate.pairs < 200
    assert gate.evidence()["ties"] == gate.pairs


def test_many_small_wins_do_not_outweigh_one_great_loss() -> None:
    gate = gate_of([-5.0] + [0.1] * 30, level=0.05)
    assert gate.log_e > math.log(20) and gate.decision == "undecided"


def test_the_minimum_gain_must_be_exceeded() -> None:
    assert gate_of([0.3] * 40, span=(0.0, 1.0)).decision == "promote"
    assert gate_of([0.3] * 40, span=(0.0, 1.0), min_gain=0.4).decision == "reject"
    assert gate_of([0.3] * 40, min_gain=0.4).decision == "reject"


def test_a_loss_beyond_the_declared_range_ends_the_gate_and_a_gain_beyond_it_counts_as_the_range() -> None:
    broken = gate_of([0.1, -1.5], span=(0.0, 1.0))
    assert broken.decision == "reject" and "promotion.range = [0.0, 1.0]" in broken.reason
    assert gate_of([9.0] * 3, span=(0.0, 1.0)).log_e == gate_of([1.0] * 3, span=(0.0, 1.0)).log_e


def test_pairs_after_the_decision_and_repeated_pairs_change_nothing() -> None:
    gate = gate_of([0.1] * 6, level=1 / 18)
    state = gate.state()
    assert gate.add(Pair("late", 0.0, 9.0)) == "promote"
    assert gate.state() == state
    other = gate_of([0.1] * 3)
    state = other.state()
    other.add(Pair("p1", 9.0, 0.0))
    assert other.state() == state


@pytest.mark.parametrize("span", [None, (0.0, 2.0)])
def test_a_gate_resumes_from_its_state_as_if_nothing_had_happened(span: tuple[float, float] | None) -> None:
    draw = random.Random(4)
    whole = Gate(0.01, 80, span, 0.01, -1)
    broken = Gate(0.01, 80, span, 0.01, -1)
    for i in range(90):
        pair = Pair(f"p{i}", draw.uniform(0, 1.3), draw.uniform(0, 1))
        whole.add(pair)
        broken = Gate.resume(json.loads(json.dumps(broken.state())))
        broken.add(pair)
        assert broken.state() == whole.state()
    assert broken.evidence() == whole.evidence() and broken.reason == whole.reason
    with pytest.raises(ValueError, match="version 9"):
        Gate.resume({"version": 9})


def test_the_evidence_is_json_without_infinities() -> None:
    for gate in (
        Gate(0.05),
        gate_of([1.0], level=1e-300, n_max=5000),
        gate_of([1.0] * 2000, level=1e-300, n_max=5000),
    ):
        json.dumps(gate.evidence(), allow_nan=False)
        json.dumps(gate.state(), allow_nan=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0},
        {"level": 0.05, "n_max": 0},
        {"level": 0.05, "min_gain": -1.0},
        {"level": 0.05, "span": (1.0, 1.0)},
        {"level": 0.05, "span": (0.0, 1.0), "min_gain": 1.0},
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError):
        Gate(**wrong)


@pytest.mark.parametrize("span", [None, (-0.5, 0.5)])
def test_false_promotions_stay_below_the_level_of_the_gate(span: tuple[float, float] | None) -> None:
    promoted = sum(gate_on(seed, 0.0, 0.2, 0.1, 60, span).decision == "promote" for seed in range(400))
    assert promoted / 400 <= 0.1


@pytest.mark.parametrize("span", [None, (-0.5, 0.5)])
def test_true_gains_pass(span: tuple[float, float] | None) -> None:
    promoted = sum(gate_on(seed, 0.15, 0.2, 0.05, 100, span).decision == "promote" for seed in range(60))
    assert promoted >= 54


def test_numbers_that_differ_are_shown_with_as_many_digits_as_it_takes() -> None:
    assert compared(12, 20) == "12 is lower than 20"
    assert compared(1.0, 1.0) == "1 equals 1"
    assert compared(1e-9, -1e-9) == "1e-09 is higher than -1e-09"
    assert compared(2.63598731, 2.63598724) == "2.6359873 is higher than 2.6359872"
    left, right = compared(0.1 + 0.2, 0.3).split(" is higher than ")
    assert left != right
