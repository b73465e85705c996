"""Evaluators of other systems, by their own packages and by us: `python benchmarks/foreign/compare.py [SYSTEM ...]`.

Makes an environment for each package under $BENCH_HOME (default: evolve-bench in the temporary folder), runs the
cases of `tests/cases/foreign` by the package in it and by us, and prints a table. Exit 1 if ours differs in a point
that the case does not name. `--record` also writes what the packages said to `expected.json` of each case.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evaluators")]

from foreign_cases import SYSTEMS, Ours, compared, folders, judge  # noqa: E402

PACKAGES = {"openevolve": "openevolve==0.4.1", "shinka": "shinka-evolve==0.0.7", "gepa": "gepa==0.1.4"}
ALSO = {"gepa": ["litellm"]}


def python_of(system: str) -> Path:
    """The interpreter of the system's environment, which is made if it is not there."""
    home = Path(os.environ.get("BENCH_HOME", Path(tempfile.gettempdir()) / "evolve-bench"))
    python = home / "venvs" / system / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        wanted = [PACKAGES[system], *ALSO.get(system, [])]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
    return python


def theirs(system: str, paths: list[Path]) -> dict[str, Any]:
    """What the package itself says of the cases."""
    command = [python_of(system), HERE / f"record_{system}.py", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{system} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def shown(verdict: str, score: Any) -> str:
    if verdict != "judged":
        return verdict
    return f"{score:.10g}" if isinstance(score, int | float) else str(score)


def row(system: str, folder: Path, said: dict[str, Any], ours: Ours) -> tuple[str, bool]:
    """One line of the table, and whether it is as it has to be."""
    wrong = compared(system, folder, said, ours)
    fault = tomllib.loads((folder / "case.toml").read_text()).get("ours", {}).get("fault", "")
    note = "; ".join(wrong) if wrong else f"differs: {fault}" if fault else "same"
    them = shown("failed" if said["failed"] else "judged", said["score"])
    us = shown(ours.outcome.verdict, ours.outcome.score)
    return f"{system:10} {folder.name:28} {them:>15} {us:>15}  {note}", not wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    print(f"{'system':10} {'evaluator':28} {'theirs':>15} {'ours':>15}")
    good = []
    for system in given.systems or SYSTEMS:
        paths = folders(system)
        said = theirs(system, paths)
        for folder in paths:
            if given.record:
                text = json.dumps(said[folder.name], indent=1, sort_keys=True) + "\n"
                (folder / "expected.json").write_text(text)
            line, fine = row(system, folder, said[folder.name], judge(system, folder))
            print(line)
            good.append(fine)
    print(f"{sum(good)} of {len(good)} as they have to be")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
