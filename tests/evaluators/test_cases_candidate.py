"""The cases of tests/cases/candidate: hostile candidates, each tier, from the real store and checkouts."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import evaluator_cases
import pytest
import trio

from archives.checkouts import Checkouts
from archives.store import Store
from evaluators.contract import Outcome, Request
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec, SandboxMode

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]


def text_of(folder: Path, files: dict[str, str]) -> dict[str, bytes]:
    return {path: (folder / name).read_bytes() for path, name in files.items()}


def make_store(tmp_path: Path, files: dict[str, bytes]) -> tuple[Store, str]:
    root = tmp_path / "root"
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    subprocess.run([*GIT, "init", "-q", "-b", "main", "."], cwd=root, check=True)
    subprocess.run([*GIT, "add", "-A"], cwd=root, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "base"], cwd=root, check=True)
    head = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    store = Store.create(tmp_path / "store.git", root / ".git", head.stdout.strip())
    return store, store.tree_of(head.stdout.strip())


def spec_of(given: dict[str, Any], root: Path, sandbox: SandboxMode) -> EvaluatorSpec:
    memory = given.get("memory_limit_mb")
    return EvaluatorSpec(
        root=root,
        command=given.get("command"),
        function=given.get("function"),
        python=Path(sys.executable),
        timeout=given["timeout_s"],
        memory=memory * 10**6 if memory else None,
        sandbox=sandbox,
    )


def alive_with(token: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if token in line:
            found.append(line)
    return found


def stored_bytes(outcome: Outcome) -> int:
    return len(outcome.feedback.encode()) + sum(len(text.encode()) for text in outcome.artifacts.values())


@pytest.mark.parametrize("sandbox", ["auto", "none"])
@pytest.mark.parametrize("name", evaluator_cases.names("candidate"))
def test_hostile_candidate_comes_out_as_the_case_states(
    name: str, sandbox: SandboxMode, tmp_path: Path
) -> None:
    folder, case = evaluator_cases.load("candidate", name)
    given, expect = case["input"], case["expect"]
    token = expect.get("process_token")
    files = text_of(folder, given["files"])
    files |= {path: text.encode() for path, text in given.get("inline", {}).items()}
    if token:  # a name of this test's own, so that tests side by side do not see each other's processes
        mine = f"t{os.getpid()}{sandbox}_{token}"
        files = {
            path.replace(token, mine): data.replace(token.encode(), mine.encode())
            for path, data in files.items()
        }
    else:
        mine = ""
    store, base = make_store(tmp_path, files)
    slot = Checkouts(store, tmp_path / "home" / "checkouts").slot(0)
    scratch = tmp_path / "home" / "scratch"
    scratch.mkdir(parents=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trees = [("base", base)]
    for candidate in given["candidates"]:
        changes = text_of(folder, candidate["files"])
        if token:
            changes = {path.replace(token, mine): data for path, data in changes.items()}
        trees.append((candidate["name"], store.write_tree(base, changes)))
    slot.move_to(base)
    left: list[str] = []

    async def main() -> dict[str, Outcome]:
        found = {}
        async with Runner(spec_of(given, tmp_path / "root", sandbox), slot.path, scratch) as runner:
            for label, tree in trees:
                slot.move_to(tree)
                began = time.monotonic()
                found[label] = await runner.evaluate(Request(candidate=tree))
                assert time.monotonic() - began < expect.get("within_s", 120)
                if mine:
                    left.extend(alive_with(mine))
        return found

    outcomes = trio.run(main)
    for label, outcome in outcomes.items():
        evaluator_cases.check(outcome, expect.get(label, {}))
        assert stored_bytes(outcome) < expect.get("stored_output_max_bytes", 2**30)
    assert left == []
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < expect.get("memory_growth_max_bytes", 2**40)
    for path, digest in expect.get("unchanged", {}).items():
        assert hashlib.sha256((tmp_path / "root" / path).read_bytes()).hexdigest() == digest
        assert hashlib.sha256(store.read(base, path) or b"").hexdigest() == digest
