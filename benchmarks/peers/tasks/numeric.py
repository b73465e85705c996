"""Six constants of a damped oscillation with a trend, to be found from its values; the frequency has wrong optima."""
import math

from programs import nudged, run

REFERENCE = 1.0
"""An exact solution."""
WANTED = (2.3, 0.35, 2.7, 0.6, 0.4, -0.15)
TIMES = [i / 5 for i in range(31)]
PARTS = {"numeric": '''def constants():
    return [
        1.0000,
        0.1000,
        2.0000,
        0.0000,
        0.0000,
        0.0000,
    ]
'''}


def _value(c, t):
    return c[0] * math.exp(-c[1] * t) * math.sin(c[2] * t + c[3]) + c[4] + c[5] * t


def score(parts):
    """1 / (1 + root mean square error)."""
    found = run(parts)["constants"]()
    assert len(found) == 6
    error = sum((_value(found, t) - _value(WANTED, t)) ** 2 for t in TIMES) / len(TIMES)
    return 1 / (1 + math.sqrt(error))


def change(parts, r):
    """One number moved, a little or far."""
    return {"numeric": nudged(parts["numeric"], r, r.choice((0.05, 0.2, 0.8)), -4.0, 4.0)}
