"""Running an evaluator's set-up once, and fingerprinting what an evaluator consists of."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from archives.errors import EvaluatorError
from evaluators.environment import environment, find_interpreter
from evaluators.spec import EvaluatorSpec, Provided, command_line
from evaluators.text import one_line, plain

_SETUP_SECONDS = 3600.0
_CHUNK = 1 << 20


def run_setup(spec: EvaluatorSpec, folder: Path) -> tuple[Provided, ...]:
    """Run the set-up command in `folder`, a checkout of the base that is kept, and return what it made.

    The command is the user's own and runs like theirs, outside the walls and with their home. What it made
    appears read-only in every checkout if the result is passed on as `provided` (`dataclasses.replace`).

    Raises:
        EvaluatorError: It failed.
    """
    if spec.setup is None:
        return ()
    before = set(_paths(folder))
    surroundings = environment(spec, find_interpreter(spec), folder)
    surroundings = {name: text for name, text in surroundings.items() if not name.startswith("EVOLVE_")}
    surroundings |= {name: os.environ[name] for name in ("HOME",) if name in os.environ}
    surroundings["TMPDIR"] = os.environ.get("TMPDIR", "/tmp")
    try:
        done = subprocess.run(
            command_line(spec.setup),
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SETUP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EvaluatorError(f'evaluator.setup = "{spec.setup}": {one_line(str(error))}') from None
    if done.returncode != 0:
        said = plain(done.stderr[-4096:] or done.stdout[-4096:]).strip().splitlines() or [""]
        why = f"exit {done.returncode}: {said[-1]}"
        raise EvaluatorError(f'evaluator.setup = "{spec.setup}" failed with {one_line(why)}')
    return tuple(Provided(path, folder / path) for path in _topmost(set(_paths(folder)) - before))


def fingerprint(entries: Iterable[tuple[str, Path]]) -> str:
    """Return one hash over files and folders: names, kinds, modes and contents, whatever the order given.

    Args:
        entries: Name to be hashed, and where the file or folder is.
    """
    total = hashlib.sha256()
    for name, path in sorted(entries):
        total.update(f"{len(name)}:{name}".encode("utf-8", "surrogateescape"))
        for relative in ["", *sorted(_paths(path))] if path.is_dir() else [""]:
            total.update(_digest(path / relative, relative))
    return total.hexdigest()


def _digest(path: Path, name: str) -> bytes:
    own = hashlib.sha256(f"{len(name)}:{name}".encode("utf-8", "surrogateescape"))
    if path.is_symlink():
        own.update(b"link" + os.fsencode(path.readlink()))
    elif path.is_file():
        own.update(b"file+x" if path.stat().st_mode & 0o100 else b"file-x")
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                own.update(part)
    else:
        own.update(b"folder" if path.is_dir() else b"nothing")
    return own.digest()


def _paths(folder: Path) -> Iterator[str]:
    """Yield everything below a folder, relative to it; links are not followed."""
    for top, folders, files in os.walk(folder):
        here = os.path.relpath(top, folder)
        for name in (*folders, *files):
            yield name if here == "." else f"{here}/{name}"


def _topmost(paths: set[str]) -> list[str]:
    return sorted(path for path in paths if path.rpartition("/")[0] not in paths)
