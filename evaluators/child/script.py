"""Runs a Python script as `python script.py` would, and vouches for it that it came to its own end.

Started by path in the user's interpreter: `python script.py CHANNEL OUTPUT CHECKOUT SCRIPT ARGUMENTS...`.
"""

from __future__ import annotations

import importlib
import os
import sys
import types


def _load() -> types.ModuleType:
    folder = os.path.dirname(os.path.abspath(__file__))
    package = types.ModuleType("_evolve_child")
    package.__path__ = [folder]
    sys.modules["_evolve_child"] = package
    return importlib.import_module("_evolve_child.program")


if __name__ == "__main__":
    _load().run(sys.modules["__main__"])
