"""What the same local optimiser reaches from random starts: a yardstick for the search.

Usage: python restarts.py --cpu-seconds 60 --seed 0 [--json]

Each start throws all centres at random into the square and refines them until a round gains nothing.
"""

import argparse
import json
import time

import evaluate  # first: it sets the number of threads
import numpy as np
from refine import MOST_ROUNDS, refine

REACH = 0.08
"""Of 0.01, 0.02, 0.04, 0.08 and 0.16 the one with the best results for its time."""


def search(cpu_seconds, seed):
    """Restart until the processor time is used up; at least once."""
    rng = np.random.default_rng(seed)
    begin = time.process_time()
    best, starts = 0.0, 0
    while starts == 0 or time.process_time() - begin < cpu_seconds:
        circles = refine(rng.random((evaluate.COUNT, 2)), MOST_ROUNDS, REACH)
        best = max(best, evaluate.judge(circles)["score"])
        starts += 1
    return {
        "score": best,
        "starts": starts,
        "cpu_seconds": round(time.process_time() - begin, 3),
        "seed": seed,
    }


def main():
    parser = argparse.ArgumentParser(description="Random restarts of the local optimiser.")
    parser.add_argument("--cpu-seconds", type=float, default=60.0, help="processor time to use (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random starts (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = search(options.cpu_seconds, options.seed)
    if options.json:
        print(json.dumps(found))
    else:
        print(
            f"best of {found['starts']} random starts in {found['cpu_seconds']:.1f} s: {found['score']:.6f}"
        )


if __name__ == "__main__":
    main()
