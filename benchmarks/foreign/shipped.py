"""Evaluators that their own systems ship, by their own packages and by us.

`python benchmarks/foreign/shipped.py` downloads the source distribution of OpenEvolve and takes every evaluator
that stands in its tests; the source distributions hold no example folders. `python benchmarks/foreign/shipped.py
FOLDER ...` takes example folders out of clones of the repositories, such as `openevolve/examples/circle_packing` or
`ShinkaEvolve/examples/circle_packing`, and judges their seeds. Verdicts and scores are compared; nothing is kept.
"""

import argparse
import ast
import math
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from compare import PACKAGES, shown, theirs
from foreign_cases import judge

PROGRAM = "def run():\n    return 1\n\n\ndef solve(*args):\n    return 1\n"
LAYOUTS = (("openevolve", "evaluator.py", "initial_program.*"), ("shinka", "evaluate.py", "initial.*"))


def example(folder: Path, place: Path) -> tuple[str, Path] | None:
    """An example folder as a case; None where it is of no system that has a layout."""
    for system, judge_file, pattern in LAYOUTS:
        programs = sorted(folder.glob(pattern))
        if (folder / judge_file).is_file() and programs:
            case = place / folder.name
            case.mkdir()
            for path in folder.iterdir():
                if path.is_file():
                    shutil.copy(path, case)
            case.joinpath("case.toml").write_text(f'program = "{programs[0].name}"\ntimeout = 55\n')
            return system, case
    return None


def embedded(place: Path) -> Iterator[tuple[str, Path]]:
    """The evaluators in the tests of OpenEvolve's source distribution, each as a case."""
    options = ["--no-deps", "--no-binary", ":all:", "-q", "-d", str(place)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, PACKAGES["openevolve"]], check=True)
    with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
        archive.extractall(place / "source", filter="data")
    seen = set()
    for path in sorted((place / "source").glob("*/tests/*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            text = (
                textwrap.dedent(node.value)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
                else ""
            )
            if "def evaluate(" in text and text not in seen and parses(text):
                seen.add(text)
                case = place / f"{path.stem}-{node.lineno}"
                case.mkdir()
                case.joinpath("evaluator.py").write_text(text)
                case.joinpath("initial_program.py").write_text(PROGRAM)
                case.joinpath("case.toml").write_text("[openevolve]\nstage_timeout = 3\n")
                yield "openevolve", case


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        found = (
            [example(folder, place) for folder in given.folders] if given.folders else list(embedded(place))
        )
        cases = [each for each in found if each is not None]
        same = 0
        for system in ("openevolve", "shinka"):
            paths = [path for whose, path in cases if whose == system]
            said = theirs(system, paths) if paths else {}
            for path in paths:
                them, us = said[path.name], judge(system, path).outcome
                verdict = "failed" if them["failed"] else "judged"
                equal = verdict == us.verdict and (
                    verdict == "failed"
                    or math.isclose(us.score or 0, them["score"], rel_tol=1e-9, abs_tol=1e-12)
                )
                same += equal
                note = "same" if equal else f"differs: {us.reason}"
                print(
                    f"{system:10} {path.name:44} {shown(verdict, them['score']):>14} {shown(us.verdict, us.score):>14}  {note}"
                )
    print(f"{same} of {len(cases)} the same")


if __name__ == "__main__":
    main()
