"""Making a forked process look like one that was started for the evaluator's file."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
import types
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Mapping

from .channel import Channel

if TYPE_CHECKING:
    from importlib.abc import Loader  # takes milliseconds to import


def prepare(config: Mapping[str, Any], path: str) -> None:
    """Put the file's folder and the candidate's packages first on the import path, and begin afresh."""
    sys.path[:0] = [os.path.dirname(path), *config["follow"].values()]
    sys.path.append(config["supplied"])
    sys.argv = [path]
    sys.dont_write_bytecode = True
    sys.modules["__main__"] = types.ModuleType("__main__")
    _reseed()


def _reseed() -> None:
    """Seed afresh: libraries kept warm would draw the same unseeded numbers in each evaluation."""
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def evaluator(config: Mapping[str, Any]) -> str:
    """Return the path of the evaluator's file in the checkout."""
    work: str = config["work"]
    return os.path.join(work, config["file"])


def load(spec: ModuleSpec, loader: Loader, channel: Channel) -> types.ModuleType:
    """Load the evaluator's own file, and note what its functions are."""
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    get_code = getattr(loader, "get_code", None)
    code = get_code(spec.name) if get_code else None
    channel.loading(module, code)
    if code is None:
        loader.exec_module(module)
    else:
        exec(code, vars(module))
    channel.watch.remember(module)
    return module
