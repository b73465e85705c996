"""The state of a search over numbers as JSON, and the search that had it; floats come back exactly.

Of CMA-ES everything is kept but its random generator, which is seeded anew before each draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evolve.operators.coordinates import Axis
from evolve.operators.literals import Literal
from evolve.operators.numerics import numpy
from evolve.operators.search import Distribution, NumberSearch

_SIMPLE = ("best_merit", "runs", "wins")
_OF_PROBES = ("won", "judged", "changed", "tried", "rounds", "seen_wins")
_OF_DISTRIBUTIONS = ("sigma", "members", "patience", "lost", "won", "moves", "finished")


def state(search: NumberSearch) -> dict[str, Any]:
    """All of a search."""
    probes = [
        [
            index,
            [[probe.size[sign], probe.closed[sign]] for sign in (1, -1)],
            {name: getattr(probe, name) for name in _OF_PROBES},
        ]
        for index, probe in search.probes.items()
    ]
    return {
        **{name: getattr(search, name) for name in _SIMPLE},
        "literals": [asdict(axis.literal) for axis in search.axes],
        "best": search.best,
        "seen": list(search.seen),
        "probes": probes,
        "distribution": None if search.distribution is None else _state(search.distribution),
    }


def restored(state: Mapping[str, Any]) -> NumberSearch:
    """The search that had this state."""
    search = NumberSearch([Axis.at(Literal(**literal)) for literal in state["literals"]])
    for name in _SIMPLE:
        setattr(search, name, state[name])
    search.best = tuple(state["best"])
    search.seen = dict.fromkeys(tuple(written) for written in state["seen"])
    for index, signs, rest in state["probes"]:
        probe = search.probes[index]
        for sign, (size, closed) in zip((1, -1), signs, strict=True):
            probe.size[sign], probe.closed[sign] = size, closed
        for name in _OF_PROBES:
            setattr(probe, name, rest[name])
    if state["distribution"] is not None:
        search.distribution = _distribution(state["distribution"], search.best)
    return search


def _state(distribution: Distribution) -> dict[str, Any]:
    return {
        **{name: getattr(distribution, name) for name in _OF_DISTRIBUTIONS},
        "active": distribution.active,
        "centre": distribution.centre,
        "spread": distribution.spread,
        "batch": [[_plain(y), merit] for y, merit in distribution.batch],
        "cma": {name: _plain(value) for name, value in vars(distribution.cma).items() if name != "_rng"},
    }


def _distribution(state: Mapping[str, Any], best: tuple[float, ...]) -> Distribution:
    np = numpy()
    found = Distribution(state["active"], best, state["spread"], state["sigma"], 1)
    for name in _OF_DISTRIBUTIONS:
        setattr(found, name, state[name])
    found.restart(state["centre"])
    found.batch = [(np.array(y), merit) for y, merit in state["batch"]]
    found.lost = state["lost"]
    for name, value in state["cma"].items():
        if not hasattr(found.cma, name):
            raise ValueError(f"this version of CMA-ES has no {name}")
        setattr(found.cma, name, np.array(value) if isinstance(value, list) else value)
    return found


def _plain(value: Any) -> Any:
    """An array as lists, a number of numpy's as Python's."""
    return value.tolist() if hasattr(value, "tolist") else value
