"""Public packages with a compiled or a data dependency, set up and improved as their users would.

    python benchmarks/packages.py                    # all, some minutes; downloads from PyPI
    python benchmarks/packages.py pycountry

For each: the source distribution is made a Git repository, an environment is made in `.venv`, `evolve check` judges the
base in the full sandbox (`sandbox = "strict"`), and a campaign runs. What is printed is what a user would see; the exit
code says whether everything came out as it should.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evolve import answering
from evolve.lookup import open_campaign


@dataclass(frozen=True)
class Package:
    """A package, and how its user sets it up.

    Attributes:
        requirement: What is downloaded.
        install: What is installed into `.venv`, in the folder of the package.
        files: What the user adds; those that `.gitignore` names are data that is not in the repository.
        ignored: Lines of `.gitignore`.
        claims: What must hold, and how to see it.
    """

    requirement: str
    install: tuple[str, ...]
    files: dict[str, str]
    ignored: tuple[str, ...]
    claims: tuple[tuple[str, Callable[[Folder], bool]], ...]


class Folder:
    """The repository of one package."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self.path = path
        self._environment = {**os.environ, **environment}

    def evolve(self, *arguments: str, **keys: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Evolve, with other values of some keys of `evolve.toml`."""
        toml = self.path / "evolve.toml"
        usual = toml.read_text()
        lines = [
            next((f"{key} = {value}" for key, value in keys.items() if line.startswith(f"{key} =")), line)
            for line in usual.splitlines()
        ]
        toml.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "evolve", "-C", str(self.path), *arguments]
        try:
            return subprocess.run(
                command, env=self._environment, capture_output=True, text=True, timeout=600, cwd="/"
            )
        finally:
            toml.write_text(usual)

    def checked(self, **keys: str) -> str:
        """The verdict of `evolve check`, in its words."""
        done = self.evolve("check", **keys)
        return (done.stdout + done.stderr).splitlines()[0] if done.stdout + done.stderr else ""

    def metric(self, name: str, **keys: str) -> float | None:
        """A metric of the base under other keys, by a campaign of its own."""
        label = "-".join(re.sub(r"\W", "", f"{key}{value}") for key, value in keys.items())
        self.evolve("run", "--campaign", label, evaluations="2", **keys)
        with open_campaign(self.path, label).reader() as reader:
            metrics = answering.resolve(reader, "base")
            found = next(iter(reader.evaluations(candidate=metrics.id)), None)
            return None if found is None else found.metrics.get(name)


MARKUPSAFE = Package(
    "markupsafe==3.0.2",
    ("-e", ".", "pytest", "setuptools"),
    {
        "evolve.toml": """
            [artifact]
            include = ["src/markupsafe/__init__.py"]
            [evaluator]
            pytest = "tests/"
            python = ".venv/bin/python"
            setup = "python setup.py build_ext --inplace"
            memory = "1GiB"
            sandbox = "strict"
            [budget]
            evaluations = 12
            """,
    },
    (".venv/", "build/", "*.so", "*.egg-info/", "__pycache__/"),
    (
        (
            "the suite passes with what setup built",
            lambda repo: repo.checked().startswith("verdict    judged"),
        ),
        ("a campaign ends", lambda repo: repo.evolve("run").returncode == 0),
    ),
)
UJSON = Package(
    "ujson==6.1.0",
    ("setuptools>=80", "setuptools-scm[simple]>=9.2"),
    {
        "judge.py": '''
            """Builds the candidate's C code, checks it against the standard library, and tells how fast it encodes."""
            import json, os, subprocess, sys, tempfile, time

            place = tempfile.mkdtemp()
            build = ["setup.py", "-q", "build_ext", "--build-temp", place + "/t", "--build-lib", place]
            built = subprocess.run([sys.executable, *build], capture_output=True, text=True)
            if built.returncode:
                sys.exit(built.stderr[-2000:])
            sys.path.insert(0, place)
            import ujson

            rows = [{"id": n, "name": f"n\\u00e4me {n}", "x": n / 7, "tags": ["a", None, True]} for n in range(2000)]
            if json.loads(ujson.dumps(rows)) != rows:
                sys.exit("it encodes wrongly")
            times = []
            for _ in range(40):
                began = time.process_time()
                ujson.dumps(rows)
                times.append(time.process_time() - began)
            flags = float("-DSEEN" in os.environ.get("CFLAGS", ""))
            seen = {"processors": len(os.sched_getaffinity(0)), "flags": flags, "threads": int(os.environ["OMP_NUM_THREADS"])}
            print(json.dumps({"score": 1e3 * sorted(times)[10], "metrics": seen}))
            ''',
        "evolve.toml": """
            [artifact]
            include = ["src/ujson/encode.c"]
            [evaluator]
            command = "python judge.py"
            python = ".venv/bin/python"
            env = ["CFLAGS"]
            memory = "1GiB"
            cpus = 1
            threads = 1
            timeout = "2m"
            direction = "minimize"
            sandbox = "strict"
            [budget]
            evaluations = 10
            """,
    },
    (".venv/", "build/", "*.so", "__pycache__/"),
    (
        ("the base is built and judged", lambda repo: repo.checked().startswith("verdict    judged")),
        (
            "too little memory is a failure that says so",
            lambda repo: "memory" in repo.checked(memory='"48MiB"'),
        ),
        ("cpus = 1 is one processor", lambda repo: repo.metric("processors", cpus="1") == 1),
        ("threads = 3 is what BLAS and OpenMP hear", lambda repo: repo.metric("threads", threads="3") == 3),
        ("env lets CFLAGS through", lambda repo: repo.metric("flags", env='["CFLAGS"]') == 1),
        ("and nothing else does", lambda repo: repo.metric("flags", env="[]") == 0),
        ("a campaign on the C code ends", lambda repo: repo.evolve("run").returncode == 0),
    ),
)
PYCOUNTRY = Package(
    "pycountry==26.2.16",
    ("-e", "."),
    {
        "queries.csv": """
            germany,DE
            holland,NL
            england,GB
            scotland,GB
            bavaria,DE
            burma,MM
            usa,US
            uk,GB
            russia,RU
            vietnam,VN
            laos,LA
            syria,SY
            iran,IR
            tanzania,TZ
            moldova,MD
            bolivia,BO
            texas,US
            quebec,CA
            catalonia,ES
            congo,CG
            niger,NE
            guinea,GN
            sudan,SD
            ireland,IE
            macedonia,MK
            swaziland,SZ
            """,
        "judge.py": '''
            """How often the right country comes first, for queries that are not in the repository."""
            import csv, os, socket
            import pycountry

            def evaluate(folder, request):
                try:
                    socket.create_connection(("127.0.0.1", int(os.environ["PROBE_PORT"])), 1).close()
                    online = 1
                except OSError:
                    online = 0
                cases = {}
                with open("queries.csv") as file:
                    for query, code in csv.reader(file):
                        try:
                            found = [country.alpha_2 for country in pycountry.countries.search_fuzzy(query)]
                        except LookupError:
                            found = []
                        cases[query] = 1 / (1 + found.index(code)) if code in found else 0.0
                return {"score": sum(cases.values()) / len(cases), "cases": cases, "metrics": {"online": online}}
            ''',
        "evolve.toml": """
            [artifact]
            include = ["src/pycountry/__init__.py"]
            [evaluator]
            function = "judge.py:evaluate"
            python = ".venv/bin/python"
            data = ["queries.csv"]
            env = ["PROBE_PORT"]
            network = false
            sandbox = "strict"
            [operators]
            tune = 1.0
            mutate = 1.0
            [budget]
            evaluations = 60
            """,
    },
    (".venv/", "queries.csv", "__pycache__/"),
    (
        ("the base is judged by untracked data", lambda repo: repo.checked().startswith("verdict    judged")),
        (
            "data that is not there is missed",
            lambda repo: "does not exist" in repo.checked(data='["other.csv"]'),
        ),
        ("network = false is no network", lambda repo: repo.metric("online", network="false") == 0),
        ("network = true is one", lambda repo: repo.metric("online", network="true") == 1),
        ("a campaign ends", lambda repo: repo.evolve("run").returncode == 0),
    ),
)
PACKAGES = {"markupsafe": MARKUPSAFE, "ujson": UJSON, "pycountry": PYCOUNTRY}


def set_up(package: Package, place: Path, environment: dict[str, str]) -> Folder:
    """Download, unpack, make it a repository, and make its environment."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(place),
    ]
    subprocess.run([*pip, package.requirement], check=True)
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(place, filter="data")
    (root,) = [path for path in place.iterdir() if path.is_dir()]
    for name, text in package.files.items():
        (root / name).write_text(textwrap.dedent(text).lstrip("\n"))
    (root / ".gitignore").write_text("\n".join(package.ignored) + "\n")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        person = ["-c", "user.name=user", "-c", "user.email=user@localhost"]
        subprocess.run(["git", *person, *command], cwd=root, check=True)
    venv.create(root / ".venv", with_pip=True)
    subprocess.run(
        [root / ".venv/bin/python", "-m", "pip", "install", "-q", *package.install], cwd=root, check=True
    )
    return Folder(root, environment)


def summary(repo: Folder) -> str:
    """What the campaign came to."""
    status = json.loads(repo.evolve("status", "--json", "--campaign", repo.path.name).stdout)
    scores = [status[name] for name in ("baseline_score", "best_score")]
    return f"{status['evaluations']} evaluations, baseline {scores[0]:.6g}, best {scores[1]:.6g}"


def main() -> int:
    """Try them; the exit code says whether all claims hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), help=f"of {', '.join(PACKAGES)}")
    missed = 0
    with socket.create_server(("127.0.0.1", 0)) as probe:
        threading.Thread(target=_greet, args=(probe,), daemon=True).start()
        environment = {"PROBE_PORT": str(probe.getsockname()[1]), "CFLAGS": "-O2 -DSEEN"}
        for name in parser.parse_args().packages:
            with tempfile.TemporaryDirectory() as place:
                print(f"\n{PACKAGES[name].requirement}", flush=True)
                repo = set_up(PACKAGES[name], Path(place), environment)
                for words, holds in PACKAGES[name].claims:
                    held = holds(repo)
                    missed += not held
                    print(f"  {'ok  ' if held else 'MISS'}  {words}", flush=True)
                print(f"        {summary(repo)}", flush=True)
    return 1 if missed else 0


def _greet(probe: socket.socket) -> None:
    while True:
        try:
            probe.accept()[0].close()
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(main())
