"""What the drivers share; they run in the environment of the system they drive, so only the standard library."""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def read(folder: Path) -> dict[str, Any]:
    """A case: what `case.toml` says, with the files that are handed over."""
    return tomllib.loads((folder / "case.toml").read_text())


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[tuple[Path, Path]]:
    """A copy of the case's files and an empty folder for temporary files."""
    with tempfile.TemporaryDirectory(prefix="foreign-") as name:
        work, temporary = Path(name, "work"), Path(name, "tmp")
        shutil.copytree(folder, work)
        temporary.mkdir()
        before = tempfile.tempdir
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        try:
            yield work, temporary
        finally:
            tempfile.tempdir = before


def ran(temporary: Path) -> list[str]:
    """What the evaluator has noted of itself: which of its functions ran."""
    path = temporary / "ran"
    return path.read_text().split() if path.exists() else []


def plain(value: Any) -> Any:
    """A value as JSON can hold it and compare it."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if (isinstance(value, float) and value in (float("inf"), float("-inf"))) or value != value:
        return str(value)
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def main(record: Callable[[Path], dict[str, Any]]) -> None:
    """Print what the package says of the cases named on the command line, as one JSON object."""
    print(json.dumps({Path(each).name: plain(record(Path(each))) for each in sys.argv[1:]}))
