"""Runs the cases of tests/cases/campaign: makes the repository, runs the program, reads what it says of itself."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archives.reader import Reader

CASES = Path(__file__).parents[1] / "cases" / "campaign"
VERDICTS = {"judged": "judged", "failed": "candidate failed", "invalid": "invalid result"}
VERDICTS |= {"could_not_judge": "could not judge"}
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Case"), ("EMAIL", "case@localhost"), ("DATE", "2024-01-01T00:00:00Z"))
}


def environment(**extra: str) -> dict[str, str]:
    """An environment without model keys or Git settings of whoever runs the tests."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.endswith("_API_KEY") and not k.startswith(("GIT_", "EVOLVE_"))
    }
    return {**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **extra}


def sh(command: str, cwd: Path, **extra: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=cwd, env=environment(**IDENTITY, **extra), check=True)


def git(cwd: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(**IDENTITY), check=True, capture_output=True, text=True
    ).stdout


@dataclass
class Ran:
    """One call of the program."""

    code: int
    out: str
    err: str


@dataclass
class Case:
    """A case laid out in a temporary folder."""

    name: str
    tmp: Path
    spec: dict[str, Any]
    repo: Path
    marks: Path
    proposals: list[dict[str, Any]] = field(default_factory=list)
    trees: dict[str, str] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        return self.spec["input"]

    @property
    def expect(self) -> dict[str, Any]:
        return self.spec["expect"]

    def evolve(self, *arguments: str, repo: Path | None = None, **extra: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "evolve", *arguments],
            cwd=repo or self.repo,
            env=environment(**self.given.get("env", {}), **extra),
            capture_output=True,
            text=True,
            timeout=180,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def ask(self, *arguments: str, repo: Path | None = None) -> dict[str, Any]:
        ran = self.evolve(*arguments, "--json", repo=repo)
        assert ran.code == 0, ran.err
        answer: dict[str, Any] = json.loads(ran.out)
        return answer

    def named(self, candidate: str) -> set[str]:
        return {name for name, tree in self.trees.items() if tree == candidate}


def lay_out(name: str, tmp: Path) -> Case:
    """Make the repository of a case, and its proposals as patches beside it."""
    spec = tomllib.loads((CASES / name / "case.toml").read_text(encoding="utf-8"))
    given = spec["input"]
    repo = tmp / given.get("repo", "repo")
    marks = tmp / "marks"
    repo.mkdir()
    marks.mkdir()
    git(repo, "init", "-q", "-b", "main")
    for path, source in given.get("beside", {}).items():
        shutil.copy(CASES / name / source, tmp / path)
    for path, source in given.get("files", {}).items():
        _write(repo / path, (CASES / name / source).read_bytes())
    for path, text in given.get("inline", {}).items():
        _write(repo / path, text.encode())
    for path, target in given.get("links", {}).items():
        (repo / path).symlink_to(target)
    for path, mode in given.get("modes", {}).items():
        (repo / path).chmod(int(mode, 8))
    for command in given.get("before_commit", []):
        sh(command, repo, CASE_TMP=str(marks))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "base")
    case = Case(name, tmp, spec, repo, marks, _proposals(given))
    _write_patches(case)
    for command in given.get("after_commit", []):
        sh(command, repo, CASE_TMP=str(marks))
    if case.proposals:
        with (repo / "evolve.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[operators]\npatches = {{ folder = "{tmp / "proposals"}" }}\n')
    return case


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _proposals(given: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(given.get("proposals", []))
    if many := given.get("proposals_generate"):
        for n in range(many["from"], many["to"] + 1):
            text = many["text"].replace("{n}", str(n))
            found.append({"name": many["name"].replace("{n}", str(n)), "write": {many["path"]: text}})
    return found


def _write_patches(case: Case) -> None:
    """Patches of all proposals in a folder outside the repository, and the tree each one makes."""
    copy = case.tmp / "copy"
    git(case.tmp, "clone", "-q", "--no-hardlinks", str(case.repo), str(copy))
    commits = {"base": git(copy, "rev-parse", "HEAD").strip()}
    # After the set-up a detached HEAD may name an earlier commit; the base is made before that.
    case.trees["base"] = git(copy, "rev-parse", "HEAD^{tree}").strip()
    if not case.proposals:
        return
    folder = case.tmp / "proposals"
    folder.mkdir()
    for number, proposal in enumerate(case.proposals, 1):
        parent = proposal.get("parent", "base")
        git(copy, "checkout", "-q", commits[parent])
        for path, text in proposal["write"].items():
            (copy / path).write_text(text, encoding="utf-8")
        git(copy, "add", "-A")
        git(copy, "commit", "-q", "--allow-empty", "-m", proposal["name"])
        commits[proposal["name"]] = git(copy, "rev-parse", "HEAD").strip()
        case.trees[proposal["name"]] = git(copy, "rev-parse", "HEAD^{tree}").strip()
        patch = git(copy, "diff", "--binary", f"{commits[parent]}", "HEAD")
        head = "" if parent == "base" else f"Parent: {parent}\n"
        (folder / f"{number:03d}-{proposal['name']}.patch").write_text(head + patch, encoding="utf-8")


def fingerprint(repo: Path) -> str:
    """A hash over every file of the user's repository except the campaigns: HEAD, index, branches, work tree."""
    digest = hashlib.sha256()
    for path in sorted(repo.rglob("*")):
        inside = path.relative_to(repo)
        if inside.parts[:2] == (".git", "evolve") or (path.is_dir() and not path.is_symlink()):
            continue
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        digest.update(f"{inside}\0{path.lstat().st_mode}\0".encode() + data + b"\0")
    return digest.hexdigest()


def await_evaluations(repo: Path, number: int) -> None:
    """Wait until so many evaluations are in the journal of the repository's only campaign."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for journal in (repo / ".git" / "evolve").glob("[!.]*/campaign.db"):
            with Reader(journal) as reader:
                if reader.counts().evaluations >= number:
                    return
        time.sleep(0.005)
    raise AssertionError(f"there are not {number} evaluations after a minute")


def alive(token: str) -> list[int]:
    """Processes whose command line or working folder holds a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            words += str((entry / "cwd").readlink())
        except OSError:
            continue
        if token in words:
            found.append(int(entry.name))
    return found
