"""Circles in the unit square: five straight rows, then a few rounds of local optimisation."""

import numpy as np
from refine import refine

# Rows from the bottom up: how many circles, where the row begins and ends, and its height.
ROWS = [
    (6, 0.1, 0.9, 0.1),
    (5, 0.18, 0.82, 0.28),
    (6, 0.1, 0.9, 0.46),
    (5, 0.18, 0.82, 0.64),
    (4, 0.26, 0.74, 0.82),
]

# Limits of the local optimiser: its rounds, and how far a circle may move in each.
ROUNDS = 3
REACH = 0.02


def pack(count):
    """Place this many circles; returns a list of (x, y, radius)."""
    centres = [(x, height) for length, start, end, height in ROWS for x in np.linspace(start, end, length)]
    return refine(centres[:count], ROUNDS, REACH)
