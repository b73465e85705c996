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

SUPPLIED = Path(__file__).parent / "supplied"
"""Folder of what evaluators may import of ours: `evaluators.isolated`, and nothing else."""
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
import json, os, site, sys
names = ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix")
base = getattr(site, "USER_BASE", None) if getattr(site, "ENABLE_USER_SITE", False) else None
prefixes = [getattr(sys, name, sys.prefix) for name in names]
paths = [path for path in sys.path if os.path.isabs(path)]
print(json.dumps([sys.executable, list(sys.version_info[:2]), prefixes, paths, base]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter and the folders it needs.

    Attributes:
        executable: Its real path; what a wrapper on PATH leads to.
        version: Major and minor version.
        user_base: Where packages are that the user installed for themselves, if it looks there.
        folders: What it needs: its own folders and those it imports from.
        paths: Folders it imports from that are not part of it, such as those of editable installations.
    """

    executable: str
    version: tuple[int, int]
    user_base: str | None
    folders: tuple[str, ...]
    paths: tuple[str, ...]


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
        executable, version, prefixes, paths, base = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    home = os.path.dirname(executable)
    folders = [*prefixes, home, os.path.dirname(os.path.realpath(executable)), *paths]
    folders += [os.path.join(prefix, "pyvenv.cfg") for prefix in prefixes]
    existing = [place for place in dict.fromkeys(folders) if os.path.exists(place)]
    foreign = [place for place in paths if not any(_within(place, prefix) for prefix in prefixes)]
    return Interpreter(executable, (version[0], version[1]), base, tuple(existing), tuple(foreign))


def environment(spec: EvaluatorSpec, python: Interpreter, scratch: Path) -> dict[str, str]:
    """Return the environment of an evaluation; nothing else of the user's gets in, keys least of all."""
    chosen = {name: os.environ[name] for name in (*_HANDED_ON, *spec.env) if name in os.environ}
    home = {"HOME": str(scratch), "TMPDIR": str(scratch)}
    if python.user_base is not None:
        home["PYTHONUSERBASE"] = python.user_base
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


def handed_on(spec: EvaluatorSpec) -> dict[str, str]:
    """Return the variables that an evaluation gets on other machines too: all but where libraries are."""
    names = dict.fromkeys([*_HANDED_ON, *spec.env])
    return {name: os.environ[name] for name in names if name in os.environ and name != "LD_LIBRARY_PATH"}


def followed(python: Interpreter, tree: Path, checkout: Path) -> dict[str, str]:
    """Map folders of the user's working tree that are on the import path to those of the checkout.

    An editable installation names the working tree: without this, every candidate would be judged by the
    user's files instead of its own.
    """
    root = str(tree.resolve())
    return {
        path: str(checkout / os.path.relpath(os.path.realpath(path), root))
        for path in python.paths
        if _within(os.path.realpath(path), root)
    }


def visible(spec: EvaluatorSpec, python: Interpreter) -> list[str]:
    """Return what an evaluation needs to see although it may lie in a hidden folder."""
    hidden = [str(path) for path in hidden_folders(spec)]
    trees = [str(path) for path in (spec.root.resolve(), *_repository(spec.root.resolve()))]
    theirs = [path for path in python.paths if any(_within(os.path.realpath(path), tree) for tree in trees)]
    own = [path for path in python.folders if path not in theirs]
    wanted = [
        *map(str, spec.show),
        *own,
        *_search_path(),
        *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep),
    ]
    wanted += [os.environ[name] for name in spec.env if name in os.environ]
    if spec.network:
        wanted.append(os.path.dirname(os.path.realpath("/etc/resolv.conf")))
    wanted += ["/run/current-system", str(SUPPLIED), str(SUPPLIED.parent / "child")]
    found = []
    for place in wanted:
        if not os.path.isabs(place) or not os.path.exists(place):
            continue
        for path in (os.path.normpath(place), os.path.realpath(place)):
            # What holds a hidden folder would bring it back into view.
            if path != "/" and not any(_within(folder, path) for folder in hidden):
                found.append(path)
    return list(dict.fromkeys(found))


def hidden_folders(spec: EvaluatorSpec) -> list[Path]:
    """Return what appears empty inside: the repository, the home, what the spec names."""
    home = Path.home()
    folders = [spec.root, *_repository(spec.root.resolve()), home, *spec.hide]
    return list(dict.fromkeys(path for path in map(Path.resolve, folders) if path != Path("/")))


def _repository(start: Path) -> list[Path]:
    """Return the working tree that `start` lies in, and its Git folder where that is elsewhere."""
    for folder in (start, *start.parents):
        git = folder / ".git"
        if git.is_dir():
            return [folder]
        if git.is_file():
            return [folder, *_git_folders(folder, git)]
    return []


def _git_folders(tree: Path, pointer: Path) -> Iterator[Path]:
    try:
        own = (tree / pointer.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        yield own
        yield (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except OSError:
        return


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _search_path() -> Iterator[str]:
    for folder in os.environ.get("PATH", _PATH).split(os.pathsep):
        if os.path.isabs(folder):
            yield folder
