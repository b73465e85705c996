"""Times and sizes as people write them in a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "kib": 2**10, "m": 10**6, "mb": 10**6, "mib": 2**20}
_SIZES |= {"g": 10**9, "gb": 10**9, "gib": 2**30, "t": 10**12, "tb": 10**12, "tib": 2**40}


def _quantity(value: Any, units: Mapping[str, float], bare: str, example: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected {example}")
    if isinstance(value, int | float):
        return value * units[bare]
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", value)
    unit = found[2].lower() if found else ""
    if not found or (unit or bare) not in units:
        raise ValueError(f"expected {example}")
    return float(found[1]) * units[unit or bare]


def seconds(value: Any) -> Any:
    """Seconds of a number or of a text such as "2h"; ValueError for anything else."""
    return _quantity(value, _UNITS, "s", 'seconds or a text such as "90s", "10m", "2h"')


def size(value: Any) -> Any:
    """Bytes of a number or of a text such as "2GiB"; ValueError for anything else."""
    return int(_quantity(value, _SIZES, "", 'bytes or a text such as "512MiB", "2GiB"'))
