"""The tests behind promotion: published values, oracles, and what makes an e-value one."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.randomness import rng
from evolve.statistics import (
    BETS,
    BettingProcess,
    log_sign_e_value,
    lond_level,
    standard_error,
    t_interval,
    t_quantile,
)


@pytest.mark.parametrize(
    ("wins", "of", "expected"), [(6, 6, 18.1), (9, 10, 18.5), (10, 11, 30.9), (30, 40, 63.0)]
)
def test_the_sign_e_value_has_the_known_values(wins: int, of: int, expected: float) -> None:
    assert math.exp(log_sign_e_value(wins, of - wins)) == pytest.approx(expected, rel=0.01)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_e_value_is_exact(wins: int, losses: int) -> None:
    n = wins + losses
    exact = Fraction(sum(math.comb(n + 1, j) for j in range(wins + 1)), (n + 1) * math.comb(n, wins))
    expected = math.log(exact.numerator) - math.log(exact.denominator)
    assert log_sign_e_value(wins, losses) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_sign_e_value_stands_very_long_records() -> None:
    assert log_sign_e_value(100_000, 0) == pytest.approx(100_001 * math.log(2) - math.log(100_001))
    assert log_sign_e_value(0, 100_000) == pytest.approx(-math.log(100_001))


@pytest.mark.parametrize("n", [0, 1, 5, 12])
def test_the_sign_e_value_is_one_on_average_where_nothing_is_better(n: int) -> None:
    mean = sum(math.comb(n, w) / 2**n * math.exp(log_sign_e_value(w, n - w)) for w in range(n + 1))
    assert mean == pytest.approx(1.0)


def test_the_bets_are_twenty_even_values() -> None:
    assert len(BETS) == 20 and BETS[0] == pytest.approx(0.05) and BETS[-1] == pytest.approx(0.95)


def test_betting_starts_at_one_and_follows_its_formula() -> None:
    process = BettingProcess(null=0.1)
    assert process.log_e == 0.0
    differences = [0.3, -0.2, 0.9, 0.1]
    for difference in differences:
        process.add(difference)
    capital = [math.prod(1 + bet * (d - 0.1) / 1.1 for d in differences) for bet in BETS]
    assert math.exp(process.log_e) == pytest.approx(sum(capital) / len(BETS))


@settings(max_examples=60)
@given(null=st.floats(0, 0.9), high=st.floats(0.01, 1), low=st.floats(-1, -0.01), steps=st.integers(1, 8))
def test_betting_gains_nothing_on_average_under_the_null(
    null: float, high: float, low: float, steps: int
) -> None:
    top, bottom = null + (1 - null) * high, null + (1 + null) * low
    chance = (null - bottom) / (top - bottom)
    mean = 0.0
    for ups in range(steps + 1):
        process = BettingProcess(null)
        for i in range(steps):
            process.add(top if i < ups else bottom)
        mean += math.comb(steps, ups) * chance**ups * (1 - chance) ** (steps - ups) * math.exp(process.log_e)
    assert mean <= 1 + 1e-9


def test_betting_resumes_from_its_log_sums() -> None:
    whole, first = BettingProcess(), BettingProcess()
    for i in range(40):
        difference = rng(1, i, "d").uniform(-0.5, 0.7)
        whole.add(difference)
        first.add(difference)
        first = BettingProcess(0.0, first.log_sums)
    assert first.log_sums == whole.log_sums and first.log_e == whole.log_e


def test_betting_survives_the_longest_winning_and_losing_streaks() -> None:
    for difference in (1.0, -1.0):
        process = BettingProcess()
        for _ in range(10_000):
            process.add(difference)
        assert math.isfinite(process.log_e)


@pytest.mark.parametrize("difference", [1.01, -1.01, math.nan])
def test_a_difference_beyond_the_range_is_no_bet(difference: float) -> None:
    with pytest.raises(ValueError, match="scale"):
        BettingProcess().add(difference)
    with pytest.raises(ValueError, match="null"):
        BettingProcess(1.0)
    with pytest.raises(ValueError, match="log sums"):
        BettingProcess(0.0, [0.0])


def test_the_levels_of_all_gates_together_stay_below_the_campaigns() -> None:
    special = pytest.importorskip("scipy.special")
    levels = [lond_level(gate, 0) for gate in range(1, 20_001)]
    assert levels[0] == pytest.approx(0.05 / float(special.zeta(1.1)), rel=1e-12)
    rest = 0.05 / float(special.zeta(1.1)) * float(special.zeta(1.1, 20_001))
    assert sum(levels) + rest == pytest.approx(0.05)
    assert levels == sorted(levels, reverse=True)


def test_each_promotion_widens_the_gates_after_it() -> None:
    assert lond_level(9, 2) == pytest.approx(3 * lond_level(9, 0))
    assert lond_level(1, 0, alpha=0.1) == pytest.approx(2 * lond_level(1, 0))
    for gate, promotions in ((0, 0), (3, 3), (3, -1)):
        with pytest.raises(ValueError, match="gate"):
            lond_level(gate, promotions)


def test_the_standard_error_is_that_of_the_mean() -> None:
    assert standard_error([1.0, 2.0, 3.0, 4.0]) == pytest.approx(math.sqrt(5 / 3 / 4))
    with pytest.raises(ValueError, match="at least 2"):
        standard_error([1.0])


def test_clusters_of_one_change_little_and_repeating_every_case_buys_no_certainty() -> None:
    differences = [0.1, 0.4, -0.2, 0.3, 0.0]
    plain = standard_error(differences)
    n = len(differences)
    assert standard_error(differences, range(n)) == pytest.approx(plain * math.sqrt((n - 1) / n))
    repeated = standard_error(differences * 4, list(range(n)) * 4)
    assert repeated == pytest.approx(standard_error(differences, range(n)))
    assert standard_error(differences * 4) < repeated


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 500])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.9995])
def test_student_quantiles_agree_with_scipy(probability: float, freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(probability, freedom) == pytest.approx(
        float(stats.t.ppf(probability, freedom)), rel=1e-8
    )


def test_quantiles_that_do_not_exist_are_refused() -> None:
    for probability, freedom in ((0.5, 3), (1.0, 3), (0.9, 0)):
        with pytest.raises(ValueError, match="quantile"):
            t_quantile(probability, freedom)


def test_the_interval_is_students_and_says_nothing_about_a_single_pair_or_cluster() -> None:
    differences = [0.3, 0.1, 0.4, 0.2, -0.1]
    interval = t_interval(differences)
    assert interval is not None
    reach = t_quantile(0.975, 4) * standard_error(differences)
    assert interval == (pytest.approx(0.18 - reach), pytest.approx(0.18 + reach))
    assert t_interval([0.3]) is None
    assert t_interval(differences, ["one"] * 5) is None
