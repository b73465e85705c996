"""Names of a package whose modules are imported when one of their names is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any


def found(package: str, names: Sequence[str], homes: Sequence[str], name: str) -> Any:
    """What a package's `__getattr__` gives for a name.

    Args:
        package: Full name of the package.
        names: Names it has.
        homes: Its modules that define them, looked through in this order.
        name: The name that is asked for.

    Raises:
        AttributeError: The package has no such name.
    """
    if name in names:
        for home in homes:
            module = importlib.import_module(f"{package}.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
