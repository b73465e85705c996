"""A campaign built by hand: a repository, a store and a journal, without a pipeline."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from archives.journal import Journal
from archives.records import (
    Basis,
    Candidate,
    CaseScore,
    Champion,
    Decision,
    Evaluation,
    Proposal,
    Record,
    Setting,
)
from archives.store import Store
from evolve.cli import main

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
CONFIG = {"artifact": {"include": ["value.txt"]}, "evaluator": {"command": "python evaluate.py"}}
WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def git(folder: Path, *arguments: str) -> str:
    """Run git without anybody's configuration."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *WHO, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def make_repository(folder: Path, files: dict[str, str]) -> str:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD").strip()


@dataclass
class Handmade:
    """The campaign and the names of what is in it."""

    root: Path
    home: Path
    store: Store
    ids: dict[str, str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    rows: list[Record] = field(default_factory=list)
    evaluations: int = 0
    decisions: int = 0

    def add(
        self,
        name: str,
        score: float | None,
        parent: str = "base",
        partner: str | None = None,
        inspirations: tuple[str, ...] = (),
        operator: str = "tune",
        summary: str = "changed the value",
        verdict: str = "judged",
        **details: Any,
    ) -> str:
        """A candidate with its proposal and its first evaluation."""
        number = len(self.ids)
        parents = [parent, *([partner] if partner else [])]
        tree = self.store.write_tree(self.ids[parent], {"value.txt": f"{name}\n".encode()})
        commit = self.store.commit(tree, [self.commits[p] for p in parents], summary, 1_700_000_000 + number)
        ids = tuple(self.ids[p] for p in parents)
        measures = {"lines": float(number), "distance": 1.0}
        self.rows.append(
            Proposal(
                number=number,
                operator=operator,
                parent=ids[0],
                partner=ids[1] if partner else None,
                inspirations=tuple(self.ids[i] for i in inspirations),
                basis=Basis(0, 0),
                state="done",
                outcome="candidate",
                candidate=tree,
                summary=summary,
            )
        )
        self.rows.append(
            Candidate(tree, commit, number, ids, number, operator, summary, measures, ("value.txt",))
        )
        self.ids[name], self.commits[name] = tree, commit
        self.judge(name, score, verdict, **details)
        return tree

    def judge(self, name: str, score: float | None, verdict: str = "judged", **details: Any) -> None:
        """One more evaluation of a candidate."""
        self.evaluations += 1
        row: dict[str, Any] = {
            "id": self.evaluations,
            "candidate": self.ids[name],
            "proposal": 0,
            "seconds": 0.5,
        }
        self.rows.append(Evaluation(**row | {"verdict": verdict, "score": score} | details))

    def duplicate(self, of: str, parent: str, number: int) -> None:
        """A proposal that led to a known candidate."""
        self.rows.append(
            Proposal(
                number,
                "mutate",
                self.ids[parent],
                Basis(0, 0),
                state="done",
                outcome="duplicate",
                candidate=self.ids[of],
            )
        )

    def crown(self, name: str, before: str, reason: str = "strictly better") -> None:
        """A promotion."""
        self.decisions += 1
        evidence = {"gain": 1.0}
        ids = self.ids
        self.rows.append(
            Decision(self.decisions, ids[name], ids[before], 1, True, "strict", reason, evidence)
        )
        self.rows.append(Champion(self.decisions, ids[name], self.decisions))

    def write(self, **settings: Any) -> Handmade:
        """Write all of it to the journal."""
        path = self.home / "campaign.db"
        journal = Journal.open(path) if path.exists() else Journal.create(path)
        journal.write(*self.rows, *(Setting(name, value) for name, value in settings.items()))
        journal.close()
        self.rows.clear()
        return self


def handmade(folder: Path, name: str = "toy", direction: str = "maximize", **settings: Any) -> Handmade:
    """A campaign that holds its base, judged once with the score 1."""
    root, home = folder / "repository", folder / "repository" / ".git" / "evolve" / name
    files = {"value.txt": "base\n", "evaluate.py": "print(1)\n"}
    base = git(root, "rev-parse", "HEAD").strip() if root.exists() else make_repository(root, files)
    home.mkdir(parents=True)
    store = Store.create(home / "store.git", root / ".git", base)
    tree = store.tree_of(base)
    made = Handmade(root, home, store, {"base": tree}, {"base": base})
    measures = {"lines": 0.0, "distance": 0.0}
    made.rows += [Candidate(tree, base, 0, (), 0, "base", "the base", measures), Champion(0, tree)]
    made.judge("base", 1.0, purpose="baseline", cases=(CaseScore("a", 1.0),))
    facts = {
        "campaign": name,
        "created": 1.0,
        "repository": str(root),
        "prefix": "",
        "config": CONFIG,
        "base": tree,
        "base_commit": base,
        "base_time": 1_700_000_000,
        "direction": direction,
        "objective": "score",
        "state": "stopped",
        "reason": "not started yet",
        "axes": [{"name": "lines", "bins": 10, "low": 0, "high": 10, "values": None}],
        "depth": 1,
        "noise": 0.0,
        "budget": {"evaluations": 10},
        "rule": "strict",
    }
    return made.write(**facts | settings)


@dataclass(frozen=True)
class Ran:
    """What a call of the command line left."""

    code: int
    out: str
    err: str


def evolve(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    """Call the command line in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return Ran(int(left.value.code or 0), out, err)


def answer(capsys: pytest.CaptureFixture[str], made: Handmade, *arguments: str) -> Any:
    """The JSON object that a command prints, checked against its published schema."""
    ran = evolve(capsys, "-C", made.root, *arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    schema = json.loads((SCHEMAS / f"{arguments[0]}.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)
    return found
