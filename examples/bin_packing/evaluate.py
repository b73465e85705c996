"""Judge of the bin packing heuristic: how many bins it uses beyond the lower bound, in percent.

Items come one by one and are never moved. What an item finds is the room in each bin, and bins with equal
room are alike. So it is enough to count the bins for each amount of room, and to ask the heuristic once for
each pair of item size and room: some thousand calls of `priority`, whatever the length of the stream.
"""

import importlib.util
import json
import math
import statistics
import sys
from pathlib import Path

from instances import generate

LISTS = {"search": "instances.json", "holdout": "holdout/instances.json"}


class InvalidHeuristic(Exception):
    """The heuristic gave no usable priority; the message says when."""


def evaluate(candidate_dir, request=None):
    """Run the candidate's `priority` on the instances of the request and judge the packings."""
    folder = Path(candidate_dir)
    request = request or {}
    wanted = request.get("cases")
    listed = json.loads((folder / LISTS[request.get("split") or "search"]).read_text())
    known = {entry["name"]: entry for entry in listed}
    priority = _load(folder).priority
    packed = {}
    for name in known if wanted is None else wanted:
        entry = known[name]
        instance = generate(entry["kind"], entry["items"], entry["seed"])
        packed[name] = (instance, pack(instance, priority))
    return judge(packed)


def pack(instance, priority):
    """Pack all items in their order; returns the room left in each bin that was opened.

    An item goes where `priority(item, room, capacity)` is highest, of all bins it fits into and an empty
    one; among equals into the fullest.

    Raises:
        InvalidHeuristic: A priority is no finite number.
    """
    capacity = instance.capacity
    bins = [0] * capacity + [len(instance.items)]
    preferences = {}
    for item in instance.items:
        if item not in preferences:
            preferences[item] = _preferences(item, capacity, priority)
        room = next(room for room in preferences[item] if bins[room])
        bins[room] -= 1
        bins[room - item] += 1
    return [room for room in range(capacity) for _ in range(bins[room])]


def _preferences(item, capacity, priority):
    """The amounts of room this item fits into, best first."""
    ranked = []
    for room in range(item, capacity + 1):
        value = priority(item, room, capacity)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InvalidHeuristic(f"priority({item}, {room}, {capacity}) is {value!r}, not a finite number")
        ranked.append((-value, room))
    return [room for _, room in sorted(ranked)]


def judge(packed):
    """The result for packings by case: pairs of an instance and the room left in each of its bins."""
    cases = {}
    left = []
    for name, (instance, rooms) in packed.items():
        excess = 100 * (len(rooms) / instance.lower_bound - 1)
        cases[name] = {
            "score": excess,
            "feedback": _describe(instance, rooms),
        }
        left.extend(room / instance.capacity for room in rooms)
    excess = statistics.fmean(case["score"] for case in cases.values())
    worst = max(cases, key=lambda name: cases[name]["score"])
    return {
        "score": excess,
        "metrics": {"excess": excess, "worst": cases[worst]["score"]},
        "cases": cases,
        "measures": {
            "full": sum(room <= 0.01 for room in left) / len(left),
            "roomy": sum(room >= 0.1 for room in left) / len(left),
        },
        "feedback": f"{excess:.3f} % more bins than the lower bound on average."
        f" Worst: {worst}, {cases[worst]['feedback']}.",
    }


def _describe(instance, rooms):
    """How many bins, and where the room that was lost is."""
    lost = sum(rooms) or 1
    small = sum(room for room in rooms if room <= 0.1 * instance.capacity)
    large = sum(room for room in rooms if room >= 0.5 * instance.capacity)
    return (
        f"{len(rooms)} bins, at least {instance.lower_bound} needed; of the room lost, {small / lost:.0%} is"
        f" in gaps up to a tenth of a bin, {large / lost:.0%} in bins half empty"
    )


def _load(folder):
    """Import heuristic.py of this folder, under a name of its own."""
    spec = importlib.util.spec_from_file_location("candidate_heuristic", folder / "heuristic.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    split = sys.argv[1] if len(sys.argv) > 1 else "search"
    print(json.dumps(evaluate(Path(__file__).parent, {"split": split})))
