"""The local optimiser: it moves the circles and sizes them by a short series of linear programs.

The distance of two points is a convex function of where they are, so its tangent never exceeds it. "Radii i
and j together are at most the tangent of their distance" is therefore stricter than "circles i and j do not
overlap", and linear. Each round solves that linear program for all centres and radii at once, within a small
box around where the centres are. So every round ends in a valid packing, none worse than the one before.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

MOST_ROUNDS = 200
FARTHEST_REACH = 0.1
SMALLEST_GAIN = 1e-9
SMALLEST_DISTANCE = 1e-9
LARGEST_RADIUS = 0.2


def refine(centres, rounds, reach):
    """Improve a packing from these centres; returns a list of (x, y, radius).

    Args:
        centres: Pairs (x, y) in the unit square.
        rounds: Linear programs to solve, at most MOST_ROUNDS; it stops earlier when one gains nothing.
        reach: How far a centre may move in one round, along each axis, at most FARTHEST_REACH.
    """
    reach = min(float(reach), FARTHEST_REACH)
    points = np.clip(np.asarray(centres, dtype=float), 0.0, 1.0)
    radii = np.zeros(len(points))
    for _ in range(min(int(rounds), MOST_ROUNDS)):
        moved, grown = _round(points, reach)
        if grown.sum() < radii.sum() + SMALLEST_GAIN:
            break
        points, radii = moved, grown
    return [(float(x), float(y), float(r)) for (x, y), r in zip(points, radii, strict=True)]


def _near_pairs(points, limit):
    """Pairs that could touch within a round, their distances, and the directions from second to first."""
    first, second = np.triu_indices(len(points), 1)
    apart = points[first] - points[second]
    distance = np.hypot(apart[:, 0], apart[:, 1])
    # Every direction gives a bound on the distance; two centres at one place are parted along x.
    towards = np.tile([1.0, 0.0], (len(first), 1))
    np.divide(apart, distance[:, None], out=towards, where=distance[:, None] > SMALLEST_DISTANCE)
    near = distance < limit
    return first[near], second[near], (towards * apart).sum(axis=1)[near], towards[near]


def _round(points, reach):
    """Solve one linear program in the moves of x, the moves of y and the radii."""
    n = len(points)
    first, second, distance, towards = _near_pairs(points, 2 * LARGEST_RADIUS + 3 * reach)

    pairs = len(first)
    limits = np.zeros((pairs + 4 * n, 3 * n))
    row = np.arange(pairs)
    for axis in (0, 1):
        limits[row, axis * n + first] = -towards[:, axis]
        limits[row, axis * n + second] = towards[:, axis]
    limits[row, 2 * n + first] = limits[row, 2 * n + second] = 1.0

    one = np.eye(n)
    for wall, (axis, side) in enumerate([(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0)]):
        rows = slice(pairs + wall * n, pairs + (wall + 1) * n)
        limits[rows, axis * n : (axis + 1) * n] = side * one
        limits[rows, 2 * n :] = one
    room = np.concatenate([distance, points[:, 0], 1 - points[:, 0], points[:, 1], 1 - points[:, 1]])

    solution = linprog(
        np.repeat([0.0, 0.0, -1.0], n),
        A_ub=csc_array(limits),
        b_ub=room,
        bounds=[(-reach, reach)] * (2 * n) + [(0.0, LARGEST_RADIUS)] * n,
        method="highs-ds",
    )
    if not solution.success:
        return points, np.zeros(n)
    return points + solution.x[: 2 * n].reshape(2, n).T, solution.x[2 * n :]
