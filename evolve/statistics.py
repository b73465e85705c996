"""The tests behind promotion, in plain Python.

An *e-value* is a number whose expectation is at most 1 when the null hypothesis holds, so that E ≥ 1/α
has probability at most α (Markov). An *e-process* is a sequence of them that may be looked at after
every observation and stopped at will (Ville): exactly what a gate needs that buys one more pair only
while it is undecided. A t-test looked at after every pair promotes a false champion in every long
campaign.

*Betting* (Waudby-Smith & Ramdas, arXiv 2010.09686): start with a capital of 1 and bet a share θ of it on
each difference being above the null; under the null no bet gains on average. The best θ depends on the
unknown gain and noise, so the capital is split evenly among 20 values; their mean is an e-process too.
It assumes nothing but the range of the differences.

*Drawing* (Waudby-Smith & Ramdas, arXiv 2006.04347): the same bets on numbers that are drawn from a finite
set without replacement, such as the cases of one evaluation in random order, tell early that the mean of
all will not reach a bar.

*Signs*: where no range is declared, wins and losses still have one. The likelihood ratio of "wins are
more likely than losses", averaged over all such probabilities, against a fair coin, has a closed form.

*e-LOND* (Xu & Ramdas, AISTATS 2024) hands out the error budget of a campaign over its gates: gate t gets
α·γ_t·(R+1) with R promotions before it and Σγ = 1. It controls the expected share of false promotions at
α, whatever the dependence between gates; while nothing is truly better, that is the chance of any false
champion.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

BETS = tuple(0.05 + 0.9 * i / 19 for i in range(20))
_DECAY = 1.1
_ZETA = 10.584448464950803  # sum of t ** -1.1 over all t from 1


class BettingProcess:
    """The e-process by betting against "the mean difference is at most `null`".

    Args:
        null: The mean that must be exceeded, in [0, 1).
        log_sums: State of an earlier process that is to go on.
    """

    def __init__(self, null: float = 0.0, log_sums: Sequence[float] | None = None) -> None:
        if not 0 <= null < 1:
            raise ValueError(f"null = {null}; it must lie in [0, 1)")
        if log_sums is not None and len(log_sums) != len(BETS):
            raise ValueError(f"{len(log_sums)} log sums; give {len(BETS)}, one for each bet")
        self.null = null
        self.log_sums = [0.0] * len(BETS) if log_sums is None else list(log_sums)
        """Logarithm of the capital of each bet, all there is to store."""

    def add(self, difference: float) -> None:
        """Bet on one difference in [-1, 1]."""
        if not -1 <= difference <= 1:
            raise ValueError(f"difference {difference}; scale it to [-1, 1]")
        step = (difference - self.null) / (1 + self.null)
        for i, bet in enumerate(BETS):
            self.log_sums[i] += math.log1p(bet * step)

    @property
    def log_e(self) -> float:
        """Logarithm of the e-value as it stands."""
        return _log_mean(self.log_sums)


class DrawProcess:
    """The e-process against "the mean of `size` numbers in [0, 1] is at least `mean`", drawn one by one.

    The numbers are drawn without replacement in an order that does not depend on them (Waudby-Smith & Ramdas,
    arXiv 2006.04347, with the bets of `BettingProcess`). If the hypothesis holds, what is left has on average
    at least m = (size · mean - sum so far) / left, so no bet on the next number being below m gains. Once m
    exceeds 1 not even perfect numbers could save the hypothesis: the e-value is infinite.

    Args:
        size: How many numbers there are.
        mean: The mean that they have at least if the hypothesis holds.
    """

    def __init__(self, size: int, mean: float) -> None:
        self._rounding = 1e-9 * max(1, size)
        self._left = size
        self._missing = size * mean
        self._log_sums = [0.0] * len(BETS)
        self._refuted = False

    def add(self, number: float) -> None:
        """Bet on the next number of the order."""
        if not 0 <= number <= 1:
            raise ValueError(f"number {number}; scale it to [0, 1]")
        if self._left < 1:
            raise ValueError("more numbers than there are")
        least = self._missing / self._left
        if 0 < least < 1:
            for i, bet in enumerate(BETS):
                self._log_sums[i] += math.log1p(bet * (least - number) / (1 - least))
        self._left -= 1
        self._missing -= number
        self._refuted = self._refuted or self._missing > self._left + self._rounding

    @property
    def log_e(self) -> float:
        """Logarithm of the e-value as it stands."""
        if self._refuted:
            return math.inf
        return _log_mean(self._log_sums)


def log_sign_e_value(wins: int, losses: int) -> float:
    """Logarithm of the e-value of so many wins and losses against "a win is no likelier than a loss".

    With n = wins + losses it is 2ⁿ⁺¹ · B(wins+1, losses+1) · (1 - I_½(wins+1, losses+1)), ties left out.
    """
    n = wins + losses
    return (n + 1) * math.log(2) + _log_at_most(wins, n + 1) - math.log(n + 1) - _log_comb(n, wins)


def lond_level(gate: int, promotions: int, alpha: float = 0.05) -> float:
    """Level of one gate of a campaign: it promotes at an e-value of at least 1 / level.

    Args:
        gate: Number of the gate in the campaign, from 1.
        promotions: Promotions by the gates before it that are decided when it opens.
        alpha: Level of the whole campaign.
    """
    if gate < 1 or not 0 <= promotions < gate:
        raise ValueError(
            f"gate {gate} after {promotions} promotions; gates count from 1, each promotes once at most"
        )
    return min(1.0, alpha * math.pow(gate, -_DECAY) / _ZETA * (promotions + 1))


def standard_error(differences: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float:
    """Standard error of the mean of paired differences (Miller, arXiv 2411.00640).

    Args:
        differences: At least two.
        clusters: The group of each difference where some belong together (seeds of a case, cases of a file).
    """
    n = len(differences)
    if n < 2:
        raise ValueError(f"{n} differences; a standard error needs at least 2")
    mean = math.fsum(differences) / n
    if clusters is None:
        return math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (n * (n - 1)))
    sums: dict[Hashable, float] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + difference - mean
    return math.sqrt(math.fsum(total**2 for total in sums.values())) / n


def t_interval(
    differences: Sequence[float], clusters: Sequence[Hashable] | None = None, level: float = 0.95
) -> tuple[float, float] | None:
    """Two-sided interval for the mean by Student's t, for reports; None where there is too little."""
    independent = len(differences) if clusters is None else len(set(clusters))
    if independent < 2:
        return None
    mean = math.fsum(differences) / len(differences)
    reach = t_quantile((1 + level) / 2, independent - 1) * standard_error(differences, clusters)
    return mean - reach, mean + reach


def t_quantile(probability: float, freedom: int) -> float:
    """The value below which a variable with Student's t distribution falls with probability in (½, 1)."""
    if not 0.5 < probability < 1 or freedom < 1:
        raise ValueError(f"no quantile for probability {probability} with {freedom} degrees of freedom")
    # With x = freedom / (freedom + t²), twice the upper tail is I_x(freedom / 2, 1/2), which rises with x.
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if _beta_share(middle, freedom / 2, 0.5) < 2 * (1 - probability):
            low = middle
        else:
            high = middle
    x = (low + high) / 2
    return math.sqrt(freedom * (1 - x) / x)


def _log_mean(logarithms: Sequence[float]) -> float:
    """Logarithm of the mean of numbers given by theirs."""
    top = max(logarithms)
    return top + math.log(math.fsum(math.exp(one - top) for one in logarithms) / len(logarithms))


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_at_most(k: int, n: int) -> float:
    """Log of the probability of at most k heads in n fair tosses, k < n, summed from the shorter tail."""
    if 2 * k > n:
        return math.log1p(-math.exp(_log_at_most(n - k - 1, n)))
    term = total = 1.0
    for j in range(k, 0, -1):
        term *= j / (n - j + 1)
        total += term
        if term < total * 1e-17:
            break
    return _log_comb(n, k) + math.log(total) - n * math.log(2)


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b) by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 1000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + step * d), 1 + step / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(log_front) * fraction / a
