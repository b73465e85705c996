"""Numpy and `cmaes`, loaded when they are first needed and on one thread.

The matrices here have at most 60 rows. Split over threads they cost forty times the processor time, most
of it spent waiting, and take it from the evaluations. The libraries read the number of threads when they
are loaded and only then, so it is set for that moment and no child process inherits it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@cache
def numpy() -> Any:
    """The module numpy."""
    before = {name: os.environ.get(name) for name in _THREADS}
    if "numpy" not in sys.modules:
        os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        import numpy
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    return numpy


@cache
def optimiser(separable: bool) -> Any:
    """The class that implements CMA-ES, in full or with a diagonal covariance.

    Its module is loaded without the package around it, which would import scipy for other variants: a second
    of processor time and 60 MB that nobody here needs.
    """
    numpy()
    package = importlib.util.find_spec("cmaes")
    assert package is not None  # a dependency of ours
    assert package.submodule_search_locations
    name, kind = ("_sepcma", "SepCMA") if separable else ("_cma", "CMA")
    file = Path(package.submodule_search_locations[0]) / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"cmaes.{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kind)
