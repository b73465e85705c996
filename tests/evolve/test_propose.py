"""Proposals handed in from outside: to a campaign that rests, to one that runs, and to one that waits for them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from targets import READ_VALUE, evolve, repository

TOML = """[artifact]
include = ["value.txt"]
[evaluator]
command = "python evaluate.py"
[operators]
manual = true
[promotion]
rule = "strict"
[budget]
proposals = 3
[workers]
propose = 1
evaluate = 1
"""


def patch(old: str, new: str, path: str = "value.txt") -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"value.txt": "1\n", "evaluate.py": READ_VALUE, "evolve.toml": TOML})


def propose(repo: Path, *arguments: str, given: str = "") -> tuple[int, dict[str, object]]:
    (repo.parent / "given").write_text(given)
    file = str(repo.parent / "given")
    ran = evolve(repo, "propose", *(file if word == "FILE" else word for word in arguments), "--json")
    return ran.returncode, json.loads(ran.stdout)


@pytest.fixture
def running(repo: Path):
    ran = evolve(repo, "run", "--detach")
    assert ran.returncode == 0, ran.stderr
    yield repo
    evolve(repo, "stop", "--now")


def test_a_campaign_waits_for_them_judges_them_and_ends_with_its_budget(running: Path) -> None:
    code, first = propose(running, "--patch", "FILE", "--wait", "--message", "to two", given=patch("1", "2"))
    assert (code, first["outcome"], first["score"]) == (0, "candidate", 2.0)
    reply = "value.txt\n<<<<<<< SEARCH\n2\n=======\n3\n>>>>>>> REPLACE\n"
    code, second = propose(running, "--reply", "FILE", "--wait", given=reply)
    assert (code, second["outcome"], second["score"]) == (0, "candidate", 3.0)
    code, third = propose(running, "--patch", "FILE", "--wait", given=patch("1", "5", "evaluate.py"))
    assert (code, third["outcome"], third["candidate"]) == (1, "failed", None)
    ended = evolve(running, "wait", "--timeout", "60s")
    assert ended.stdout == "finished: the budget of 3 proposals is used up\n"
    best = json.loads(evolve(running, "best", "--json").stdout)
    assert (best["score"], best["operator"]) == (3.0, "manual")
    assert best["parents"] == [first["candidate"]]


def test_the_prompt_for_a_parent_is_printed_and_its_answer_can_be_handed_in(running: Path) -> None:
    propose(running, "--patch", "FILE", "--wait", "--message", "to two", given=patch("1", "2"))
    asked = evolve(running, "propose", "--prompt", "--parent", "base")
    assert asked.returncode == 0, asked.stderr
    assert "value.txt" in asked.stdout and "SEARCH" in asked.stdout
    parent = asked.stderr.split("--parent ")[1].strip()
    reply = "value.txt\n<<<<<<< SEARCH\n1\n=======\n7\n>>>>>>> REPLACE\n"
    code, answer = propose(running, "--reply", "FILE", "--parent", parent, "--wait", given=reply)
    assert (code, answer["score"]) == (0, 7.0)
    assert evolve(running, "propose", "--prompt", "--json").returncode == 2


def test_one_for_a_resting_campaign_is_judged_by_the_next_run(running: Path) -> None:
    evolve(running, "stop")
    evolve(running, "wait", "--timeout", "60s")
    code, given = propose(running, "--patch", "FILE", given=patch("1", "4"))
    assert (code, given["proposal"], given["outcome"]) == (0, 1, None)
    protected = patch("with open", "pass", "evaluate.py")
    assert propose(running, "--patch", "FILE", given=protected)[1]["proposal"] == 2
    assert propose(running, "--patch", "FILE", given=patch("1", "6"))[1]["proposal"] == 3
    code, refused = propose(running, "--patch", "FILE", given=patch("1", "7"))
    assert (code, refused["done"]) == (1, False)
    assert refused["text"] == "the budget leaves no proposal; `evolve budget add proposals=1` first"
    ran = evolve(running, "resume")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(evolve(running, "status", "--json").stdout)["best_score"] == 6.0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give one of --patch FILE, --reply FILE and --prompt"),
        (("--patch", "FILE", "--reply", "FILE"), "give one of"),
        (("--patch", "FILE"), "the patch is empty"),
        (("--patch", "FILE", "--parent", "ffff"), "no candidate"),
    ],
)
def test_what_cannot_be_handed_in_is_one_line(running: Path, arguments: tuple[str, ...], says: str) -> None:
    (running.parent / "given").write_text("\n")
    words = [str(running.parent / "given") if word == "FILE" else word for word in arguments]
    ran: subprocess.CompletedProcess[str] = evolve(running, "propose", *words)
    assert ran.returncode != 0
    assert says in ran.stderr and ran.stderr.count("\n") <= 3
