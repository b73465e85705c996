"""A short program of steps, to be put together so that it computes a curve known by its values."""
import math

from programs import run

REFERENCE = 1.0
"""An exact solution."""
STEPS = ("y = y * x", "y = y + x", "y = y - x", "y = y + 1.0", "y = y - 1.0", "y = y * 0.5", "y = y * y", "y = -y",
         "y = abs(y)", "y = max(y, 0.0)")
POINTS = [-2 + i / 5 for i in range(21)]
PARTS = {"structure": '''def curve(x):
    y = x
    y = y + 1.0
    y = y * 0.5
    return y
'''}


def _wanted(x):
    """In steps: y = x, * x, - 1, abs, * 0.5, - x, * x, + 1."""
    return (abs(x * x - 1) * 0.5 - x) * x + 1


def score(parts):
    """1 / (1 + root mean square error), less a thousandth for each line beyond twelve."""
    curve = run(parts)["curve"]
    error = sum((curve(x) - _wanted(x)) ** 2 for x in POINTS) / len(POINTS)
    found = 1 / (1 + math.sqrt(error))
    assert math.isfinite(found)
    return max(0.0, found - 0.001 * max(0, parts["structure"].count("\n") - 12))


def change(parts, r):
    """One or two steps inserted, taken out, replaced or exchanged."""
    lines = parts["structure"].splitlines()
    head, steps, tail = lines[:2], lines[2:-1], lines[-1:]
    for _ in range(r.choice((1, 1, 2))):
        kind = r.choice(("insert", "insert", "delete", "replace", "exchange"))
        if kind == "insert" or len(steps) < 2:
            steps.insert(r.randrange(len(steps) + 1), "    " + r.choice(STEPS))
        elif kind == "delete":
            del steps[r.randrange(len(steps))]
        elif kind == "replace":
            steps[r.randrange(len(steps))] = "    " + r.choice(STEPS)
        else:
            a, b = r.sample(range(len(steps)), 2)
            steps[a], steps[b] = steps[b], steps[a]
    return {"structure": "\n".join(head + steps + tail) + "\n"}
