"""The user's interpreter and what of the environment an evaluation gets to see."""

# Strings, not paths: a link of a virtual environment is that environment, and pathlib tidies too much.
# ruff: noqa: PTH110, PTH117, PTH118, PTH120
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from archives.errors import EvaluatorError
from evaluators.spec import EvaluatorSpec

OLDEST = (3, 8)
_HANDED_ON = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH"),
    # Which instructions numeric libraries use: without these the same code may give other digits.
    *("OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "NPY_DISABLE_CPU_FEATURES"),
    *("ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "GLIBC_TUNABLES"),
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_QUESTION = """
import json, os, sys
names = ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix")
prefixes = [getattr(sys, name, sys.prefix) for name in names]
paths = [path for path in sys.path if os.path.isabs(path)]
print(json.dumps([sys.executable, list(sys.version_info[:2]), prefixes, paths]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter and the folders it needs.

    Attributes:
        executable: Its real path; what a wrapper on PATH leads to.
        version: Major and minor version.
        prefix: Its environment, such as a virtual one.
        folders: All folders it loads something from.
    """

    executable: str
    version: tuple[int, int]
    prefix: str
    folders: tuple[str, ...]


def find_interpreter(spec: EvaluatorSpec) -> Interpreter:
    """Return the interpreter that the user's Python code runs with.

    Raises:
        EvaluatorError: The one that is configured cannot be started, or is too old.
    """
    if spec.python is not None:
        # Joined, not resolved: where the link of a virtual environment leads is not that environment.
        path = str(spec.root / spec.python)
        found = ask_interpreter(path, str(spec.root))
        if found is None:
            raise EvaluatorError(
                f'evaluator.python = "{spec.python}" cannot be started: give a Python interpreter'
            )
        if found.version < OLDEST:
            raise EvaluatorError(
                f'evaluator.python = "{spec.python}" is older than Python 3.8: give a newer one'
            )
        return found
    for name in ("python", "python3"):
        path = shutil.which(name) or ""
        found = ask_interpreter(path, str(spec.root)) if path else None
        if found is not None and found.version >= OLDEST:
            return found
    return own_interpreter()


def own_interpreter() -> Interpreter:
    """Return the interpreter that runs this."""
    found = ask_interpreter(sys.executable, "/")
    if found is None:
        raise EvaluatorError(f"{sys.executable} cannot be started: repair the Python installation")
    return found


@lru_cache(maxsize=16)
def ask_interpreter(path: str, folder: str) -> Interpreter | None:
    """Start an interpreter once, as a user would in `folder`, and ask where it lives; None if it fails."""
    try:
        done = subprocess.run(
            [path, "-c", _QUESTION],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=True,
        )
        executable, version, prefixes, paths = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    home = os.path.dirname(executable)
    folders = [*prefixes, home, os.path.dirname(os.path.realpath(executable)), *paths]
    folders += [os.path.join(prefix, "pyvenv.cfg") for prefix in prefixes]
    existing = [place for place in dict.fromkeys(folders) if os.path.exists(place)]
    return Interpreter(executable, (version[0], version[1]), prefixes[0], tuple(existing))


def environment(spec: EvaluatorSpec, python: Interpreter, scratch: Path) -> dict[str, str]:
    """Return the environment of an evaluation; nothing else of the user's gets in, keys least of all."""
    chosen = {name: os.environ[name] for name in (*_HANDED_ON, *spec.env) if name in os.environ}
    home = {"HOME": str(scratch), "TMPDIR": str(scratch)}
    path = os.pathsep.join([os.path.dirname(python.executable), *_search_path()])
    return {
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        **{name: str(spec.threads) for name in _THREADS},
        **home,
        **chosen,
        "EVOLVE_REQUEST": str(scratch / "request.json"),
        "EVOLVE_RESULT": str(scratch / "result.json"),
    }


def visible(spec: EvaluatorSpec, python: Interpreter) -> list[str]:
    """Return what an evaluation needs to see although it may lie in a hidden folder."""
    hidden = [str(path) for path in hidden_folders(spec)]
    wanted = [*python.folders, *_search_path(), *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
    wanted += [os.environ[name] for name in spec.env if name in os.environ]
    if spec.network:
        wanted.append(os.path.dirname(os.path.realpath("/etc/resolv.conf")))
    wanted.append("/run/current-system")
    found = []
    for place in wanted:
        if not os.path.isabs(place) or not os.path.exists(place):
            continue
        for path in (os.path.normpath(place), os.path.realpath(place)):
            # What holds a hidden folder would bring it back into view.
            if path != "/" and not any(folder == path or folder.startswith(path + "/") for folder in hidden):
                found.append(path)
    return list(dict.fromkeys(found))


def hidden_folders(spec: EvaluatorSpec) -> list[Path]:
    """Return what appears empty inside: the repository with its history, the home, what the spec names."""
    home = Path.home()
    folders = [spec.root, home, *spec.hide]
    return list(dict.fromkeys(path for path in map(Path.resolve, folders) if path != Path("/")))


def _search_path() -> Iterator[str]:
    for folder in os.environ.get("PATH", _PATH).split(os.pathsep):
        if os.path.isabs(folder):
            yield folder
