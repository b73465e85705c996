"""Running an evaluator's set-up once, and fingerprinting what an evaluator consists of."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from archives.errors import EvaluatorError
from evaluators.environment import SUPPLIED, environment, find_interpreter, followed
from evaluators.spec import EvaluatorSpec, Provided, command_line
from evaluators.text import one_line, plain

_GUARD = Path(__file__).parent / "child" / "guard.py"
_SETUP_SECONDS = 3600.0
_CHUNK = 1 << 20
_CHECK_EVERY = 0.2
LISTED = "EVOLVE-TESTS "
"""What the line with the names of a suite's tests begins with."""


def run_setup(
    spec: EvaluatorSpec, folder: Path, check: Callable[[], object] = lambda: None
) -> tuple[Provided, ...]:
    """Run the set-up command in `folder`, a checkout of the base that is kept, and return what it made.

    `check` is called several times a second while it runs; what it raises ends the command.

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
        code, out, err = _carried_out(command_line(spec.setup), folder, surroundings, check)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EvaluatorError(f'evaluator.setup = "{spec.setup}": {one_line(str(error))}') from None
    if code != 0:
        said = plain(err[-4096:] or out[-4096:]).strip().splitlines() or ["it printed nothing"]
        why = f"exit {code}: {said[-1]}"
        raise EvaluatorError(f'evaluator.setup = "{spec.setup}" failed with {one_line(why)}')
    return tuple(Provided(path, folder / path) for path in _topmost(set(_paths(folder)) - before))


def listed(
    spec: EvaluatorSpec, folder: Path, argv: tuple[str, ...], check: Callable[[], object] = lambda: None
) -> tuple[str, ...]:
    """Ask a suite which tests there are in `folder`, a checkout of the base, outside the walls.

    Args:
        spec: The evaluator.
        folder: The folder.
        argv: The command that prints a line "EVOLVE-TESTS" with their names as JSON.
        check: Called now and then; what it raises ends the command.

    Raises:
        EvaluatorError: It says nothing of the kind.
    """
    python = find_interpreter(spec)
    surroundings = {**environment(spec, python, folder), "HOME": os.environ.get("HOME", "/")}
    surroundings["TMPDIR"] = os.environ.get("TMPDIR", "/tmp")
    own = followed(python, spec.root, folder).values()
    surroundings["PYTHONPATH"] = os.pathsep.join([*own, str(SUPPLIED)])
    try:
        _, out, err = _carried_out([python.executable, *argv[1:]], folder, surroundings, check)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EvaluatorError(f"the tests of the base cannot be listed: {one_line(str(error))}") from None
    for line in plain(out).splitlines():
        if line.startswith(LISTED):
            return tuple(json.loads(line[len(LISTED) :]))
    said = plain(err[-4096:] or out[-4096:]).strip().splitlines() or ["nothing was printed"]
    raise EvaluatorError(f"the tests of the base cannot be listed: {one_line(said[-1])}")


def _carried_out(
    argv: Sequence[str], folder: Path, surroundings: Mapping[str, str], check: Callable[[], object]
) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors of a command; its process group ends with it, and with this process."""
    deadline = time.monotonic() + _SETUP_SECONDS
    guard, ours = os.pipe()
    with (
        os.fdopen(ours, "wb"),
        subprocess.Popen(
            [sys.executable, "-I", str(_GUARD), str(guard), *argv],
            cwd=folder,
            pass_fds=(guard,),
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        os.close(guard)
        try:
            while True:
                try:
                    out, err = process.communicate(timeout=_CHECK_EVERY)
                    return process.returncode, out, err
                except subprocess.TimeoutExpired:
                    if time.monotonic() > deadline:
                        raise subprocess.TimeoutExpired(list(argv), _SETUP_SECONDS) from None
                    check()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


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
