"""Do lessons that are false fade, and do true ones rise? A simulation of a campaign's memory.

    python benchmarks/lessons.py [--seeds 200] [--outcomes 400]

Each proposal succeeds with a base rate that falls from 30 % to 15 % as progress gets harder; a prompt that carries
the true lesson adds 15 points, the false one takes 10 away, four idle ones change nothing. The memory is the one
that campaigns use, and sees only which lessons a proposal carried and whether it succeeded.
"""

from __future__ import annotations

import argparse
import random
from statistics import fmean, quantiles

from archives.records import Lesson
from evolve.memory import Memory

TRUE, FALSE = 1, 2
EFFECTS = {TRUE: 0.15, FALSE: -0.10, 3: 0.0, 4: 0.0, 5: 0.0, 6: 0.0}


def campaign(seed: int, outcomes: int) -> dict[str, float]:
    draw = random.Random(seed)
    memory = Memory(Lesson(id, f"claim number {id} " + "word" * id, "all") for id in EFFECTS)
    first: dict[str, float] = {}
    carried_late = dict.fromkeys(EFFECTS, 0)
    for number in range(1, outcomes + 1):
        carried = memory.draw(draw)
        rate = 0.30 - 0.15 * number / outcomes + sum(EFFECTS[id] for id in carried)
        memory.learn(carried, draw.random() < rate, number)
        if memory.standing(TRUE).word == "supported":
            first.setdefault("promoted", number)
        if memory.standing(FALSE).word == "fading":
            first.setdefault("demoted", number)
        if number > outcomes // 2:
            for id in carried:
                carried_late[id] += 1
    half = outcomes - outcomes // 2
    return first | {
        "true": carried_late[TRUE] / half,
        "false": carried_late[FALSE] / half,
        "idle": fmean(carried_late[id] / half for id in EFFECTS if EFFECTS[id] == 0),
        "wrongly promoted": memory.standing(FALSE).word == "supported",
        "wrongly demoted": memory.standing(TRUE).word == "fading",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--outcomes", type=int, default=400)
    given = parser.parse_args()
    runs = [campaign(seed, given.outcomes) for seed in range(given.seeds)]
    print(f"{given.seeds} campaigns of {given.outcomes} outcomes")
    for word, which in (("promoted", "true"), ("demoted", "false")):
        when = [run[word] for run in runs if word in run]
        spread = quantiles(when, n=10) if len(when) > 1 else [0.0] * 9
        print(
            f"the {which} lesson was {word} in {len(when) / len(runs):.0%}: "
            f"half of them within {spread[4]:.0f} outcomes, 90 % within {spread[8]:.0f}"
        )
    for name in ("true", "false", "idle"):
        print(f"carried in the second half, {name}: {fmean(run[name] for run in runs):.0%} of prompts")
    for name in ("wrongly promoted", "wrongly demoted"):
        print(f"{name} at the end: {fmean(run[name] for run in runs):.1%}")


if __name__ == "__main__":
    main()
