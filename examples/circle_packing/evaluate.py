"""Judge of the circle packing: 26 circles inside the unit square, none overlapping; the sum of their radii.

Distances may be short by TOLERANCE, the size of a linear program's rounding. Nothing is won by that: before
the radii are summed all of them are reduced by the largest violation, so what is scored is a valid packing.
"""

import importlib.util
import json
import math
import os
import sys
from pathlib import Path

# Read when numpy is first imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import scipy.optimize  # noqa: E402, F401  (imported here once, and not by each candidate)

COUNT = 26
TOLERANCE = 1e-9
"""Largest overlap, and largest distance beyond a wall, that is forgiven."""
ROUNDING = 1e-15
"""Taken off each radius as well, so that rounding in the check itself gives nothing away."""
CONTACT = 1e-6
"""Circles with less than this between them, or a wall, touch."""


class InvalidPacking(Exception):
    """The circles are not a packing; the message says why."""


def evaluate(candidate_dir, request=None):
    """Run the candidate's `pack(26)` and judge what it returns."""
    return judge(_load(Path(candidate_dir)).pack(COUNT))


def judge(circles):
    """Score a packing given as (x, y, radius) triples.

    Raises:
        InvalidPacking: Wrong number of circles, a number that is none, an overlap, or a circle outside.
    """
    x, y, radius = _columns(circles)
    first, second = np.triu_indices(COUNT, 1)
    pair_slack = np.hypot(x[first] - x[second], y[first] - y[second]) - radius[first] - radius[second]
    wall_slack = np.stack([x, 1 - x, y, 1 - y]) - radius
    closest = int(np.argmin(pair_slack))
    if pair_slack[closest] < -TOLERANCE:
        a, b = int(first[closest]), int(second[closest])
        raise InvalidPacking(f"circles {a} and {b} overlap by {-pair_slack[closest]:.3g}")
    outermost = int(np.argmin(wall_slack.min(axis=0)))
    if wall_slack[:, outermost].min() < -TOLERANCE:
        raise InvalidPacking(f"circle {outermost} is outside by {-wall_slack[:, outermost].min():.3g}")

    violation = max(0.0, -float(pair_slack.min()), -float(wall_slack.min()))
    score = math.fsum(np.maximum(radius - violation - ROUNDING, 0.0))
    touching = pair_slack < CONTACT
    at_walls = wall_slack < CONTACT
    contacts = np.bincount(np.r_[first[touching], second[touching]], minlength=COUNT) + at_walls.sum(axis=0)
    return {
        "score": score,
        "metrics": {"contacts": int(touching.sum() + at_walls.sum()), "loose": int((contacts < 2).sum())},
        "measures": {"at_walls": int(at_walls.any(axis=0).sum()), "spread": float(radius.std())},
        "feedback": _feedback(x, y, radius, contacts, score),
    }


def _columns(circles):
    """The circles as three arrays, after the checks on their form."""
    rows = [tuple(circle) for circle in circles]
    if len(rows) != COUNT:
        raise InvalidPacking(f"expected {COUNT} circles, got {len(rows)}")
    if any(len(row) != 3 for row in rows):
        raise InvalidPacking("each circle is (x, y, radius)")
    x, y, radius = np.array(rows, dtype=float).T
    if not np.isfinite([x, y, radius]).all():
        raise InvalidPacking("not all numbers are finite")
    if (radius < 0).any():
        raise InvalidPacking(f"circle {int(np.argmin(radius))} has a negative radius")
    return x, y, radius


def _feedback(x, y, radius, contacts, score):
    """What a proposer can use: how rigid the packing is, and where there is room."""
    order = np.lexsort((radius, contacts))
    named = [
        f"{i} at ({x[i]:.3f}, {y[i]:.3f}), radius {radius[i]:.4f}, {contacts[i]} contacts" for i in order[:3]
    ]
    return "\n".join(
        [
            f"Sum of radii {score:.6f}; radii from {radius.min():.4f} to {radius.max():.4f}.",
            f"{int((contacts >= 3).sum())} of {COUNT} circles are held by three contacts or more;"
            " those with fewer can still grow or move.",
            "Least held: " + "; ".join(named) + ".",
        ]
    )


def _load(folder):
    """Import packing.py of this folder, under a name of its own; it may import its neighbours."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("candidate_packing", folder / "packing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    print(json.dumps(evaluate(Path(__file__).parent)))
