"""Starts the child server: `python serve.py`, with the control socket as standard input.

Runs in the user's interpreter (Python 3.8 or later) and is never imported. The other files of this folder are
loaded as a package of a name that no user has, so that nothing of ours meets a module of the candidate's.
"""

from __future__ import annotations

import importlib
import os
import sys
import types

_PACKAGE = "_evolve_child"


def _control() -> int:
    """Move the control socket out of the way of standard input."""
    control = os.dup(0)
    os.set_inheritable(control, False)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return control


def main() -> None:
    """Load the package and become the keeper."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path not in ("", folder)]
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [folder]
    sys.modules[_PACKAGE] = package
    importlib.import_module(_PACKAGE + ".keeper").main(_control())


if __name__ == "__main__":
    main()
