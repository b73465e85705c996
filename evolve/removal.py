"""Removing folders that candidates have written to, however deep and with whatever modes."""

from __future__ import annotations

import os
from pathlib import Path

from evaluators.child.folders import empty


def remove_tree(folder: Path) -> None:
    """Remove a folder and all below it; one that is not there is fine."""
    if folder.is_dir() and not folder.is_symlink():
        empty(os.fspath(folder))
        folder.rmdir()
