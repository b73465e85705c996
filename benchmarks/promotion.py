"""False champions: how often a campaign in which nothing is better still ends with a new champion, by rule.

    python benchmarks/promotion.py            about a minute
    python benchmarks/promotion.py --quick    a few seconds

Every challenger is exactly as good as its champion; paired differences are normal with standard
deviation .2, cut at the ends of [-1, 1]. A second table shows what true gains cost, a third what giving
up early saves. Seeds are fixed, so a second run prints the same figures.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evolve import gate as gates
from evolve.promotion import Gate, Levels, Pair
from evolve.randomness import rng
from evolve.statistics import BettingProcess, t_quantile

NOISE = 0.2
CHALLENGERS = 50
SPAN = (0.0, 1.0)
LIMITS = (60, 100, 300, 1000)


def differences(seed: int, number: int, gain: float = 0.0) -> Callable[[], float]:
    """A stream of paired differences of one challenger."""
    draw = rng(seed, number, f"pairs {gain}")
    return lambda: max(-1.0, min(1.0, draw.gauss(gain, NOISE)))


def passed(decide: Callable[[Callable[[], float]], bool], campaigns: int) -> float:
    """Share of campaigns in which at least one challenger passes."""
    hits = sum(
        any(decide(differences(campaign, number)) for number in range(CHALLENGERS))
        for campaign in range(campaigns)
    )
    return hits / campaigns


def higher_single_score(draw: Callable[[], float]) -> bool:
    """Keep whoever scored higher, once."""
    return draw() > 0


@cache
def critical(freedom: int) -> float:
    """One-sided 5 % value of Student's t."""
    return t_quantile(0.95, freedom)


def peeking_t_test(draw: Callable[[], float], n_max: int = 60) -> bool:
    """A t-test at 5 %, looked at after every pair from the fifth."""
    total = squares = 0.0
    for n in range(1, n_max + 1):
        difference = draw()
        total += difference
        squares += difference * difference
        variance = (squares - total * total / n) / max(1, n - 1)
        if n >= 5 and variance > 0 and total / n > critical(n - 1) * math.sqrt(variance / n):
            return True
    return False


def peaks(draw: Callable[[], float]) -> list[float]:
    """Highest e-value of one challenger by each limit; a gate without early end promotes if it is enough."""
    process, highest, found = BettingProcess(), 0.0, []
    for n in range(1, LIMITS[-1] + 1):
        process.add(draw())
        highest = max(highest, math.exp(process.log_e))
        if n in LIMITS:
            found.append(highest)
    return found


def false_champions(campaigns: int) -> None:
    """Print the first table."""
    print(
        f"Share of {campaigns} campaigns of {CHALLENGERS} challengers, none better, with a false champion\n"
    )
    print(f"  {'keep the higher single score':44} {passed(higher_single_score, campaigns):6.1%}")
    print(f"  {'t-test at 5 %, looking after each pair':44} {passed(peeking_t_test, campaigns):6.1%}")
    found = [[peaks(differences(c, k)) for k in range(CHALLENGERS)] for c in range(campaigns)]
    for needed, limits in ((20.0, (300,)), (100.0, LIMITS)):
        for limit in limits:
            at = LIMITS.index(limit)
            hits = sum(any(one[at] >= needed for one in campaign) for campaign in found) / campaigns
            print(f"  {f'e >= {needed:.0f} at each gate, at most {limit} pairs':44} {hits:6.1%}")
    for limit in (60, 300):
        hits = sum(lond_campaign(c, limit) for c in range(campaigns)) / campaigns
        print(f"  {f'e-LOND at 5 %, at most {limit} pairs, early end':44} {hits:6.1%}")


def lond_campaign(campaign: int, n_max: int) -> bool:
    """Whether one campaign under the default rule ends with a false champion."""
    levels = Levels()
    return any(
        run_gate(Gate(levels.level(k + 1, 0), n_max, SPAN), differences(campaign, k)).decision == "promote"
        for k in range(CHALLENGERS)
    )


def run_gate(gate: Gate, draw: Callable[[], float]) -> Gate:
    """Feed a gate until it decides."""
    while gate.decision == "undecided":
        gate.add(Pair(str(gate.pairs), draw(), 0.0))
    return gate


def cost_of_proof(gates_each: int) -> None:
    """Print what it costs to prove a true gain when the number of pairs is not limited."""
    print(f"\nPairs until proof, median / 80th percentile of {gates_each} gates, noise {NOISE}\n")
    for needed in (20, 100):
        for gain in (0.05, 0.10):
            counts = []
            for k in range(gates_each):
                process, draw, n = BettingProcess(), differences(7, k, gain), 0
                while process.log_e < math.log(needed) and n < 2000:
                    process.add(draw())
                    n += 1
                counts.append(n)
            percentile = statistics.quantiles(counts, n=5)[-1]
            print(f"  e >= {needed:<4} gain {gain:.2f} {statistics.median(counts):8.0f} / {percentile:.0f}")


def early_end(gates_each: int) -> None:
    """Print what giving up early saves and what it loses, at the level of a campaign's first gate."""
    level = Levels().level(1, 0)
    print(f"\nShare promoted and mean pairs of {gates_each} gates at e >= {1 / level:.0f}\n")
    print(f"  {'':34} {'with early end':>18} {'without':>18}")
    default, keys = gates._LOOK, range(gates_each)
    for n_max in (60, 300):
        for gain in (0.0, 0.05, 0.10, 0.15):
            for name, span in (("betting", SPAN), ("signs", None)):
                cells = []
                for look in (default, n_max + 1):
                    gates._LOOK = look
                    done = [run_gate(Gate(level, n_max, span), differences(8, k, gain)) for k in keys]
                    share = sum(one.decision == "promote" for one in done) / gates_each
                    cells.append(f"{share:6.0%} {statistics.mean(one.pairs for one in done):6.0f} pairs")
                gates._LOOK = default
                print(f"  at most {n_max:>3}, gain {gain:.2f}, {name:8}   {cells[0]:>18} {cells[1]:>18}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer campaigns; figures are rougher")
    quick = parser.parse_args().quick
    false_champions(6 if quick else 100)
    cost_of_proof(20 if quick else 200)
    early_end(10 if quick else 100)


if __name__ == "__main__":
    main()
