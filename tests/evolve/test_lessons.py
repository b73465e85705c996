"""Lessons from end to end: a model proposes and reflects, prompts carry what it concluded, people have the say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scripted_server import Scripted, Seen, says, server
from targets import READ_VALUE, evolve, repository

from archives.reader import Reader

TOML = """[artifact]
include = ["value.txt"]
[evaluator]
command = "python evaluate.py"
[operators]
edit = 1
[models]
pool = [{{ model = "small", api_base = "{base}" }}]
[promotion]
rule = "strict"
[budget]
proposals = {proposals}
[workers]
propose = 1
evaluate = 1
"""
CLAIM = "Raising the number always raises the score."


def asked(seen: Seen, number: int) -> str:
    return "\n".join(message["content"] for message in seen.bodies[number]["messages"])


def model(seen: list[Seen]):
    """Answers a request for a change by raising the value, and a reflection by one lesson."""

    def answer(number: int) -> Scripted:
        prompt = asked(seen[0], number)
        if judged := re.findall(r"^Evaluation (\d+): edit took", prompt, re.MULTILINE):
            lesson = {"claim": CLAIM, "scope": "value.txt", "for": [int(judged[0])], "against": []}
            return says(json.dumps({"lessons": [{**lesson, "lesson": None}]}))
        return says(f"Raise it.\n\nvalue.txt\n```\n{number + 2}\n```\n")

    return answer


@pytest.fixture
def campaign(tmp_path: Path):
    seen: list[Seen] = []
    with server(lambda number: model(seen)(number)) as one:
        seen.append(one)
        files = {"value.txt": "1\n", "evaluate.py": READ_VALUE}
        files["evolve.toml"] = TOML.format(base=one.base, proposals=12)
        yield repository(tmp_path / "repo", files), one


def lessons(repo: Path, *words: str) -> dict[str, object]:
    ran = evolve(repo, "lessons", *words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_what_was_concluded_is_carried_by_later_prompts_and_can_be_pinned_and_forgotten(campaign) -> None:
    repo, seen = campaign
    ran = evolve(repo, "run")
    assert ran.returncode == 0, ran.stderr
    [lesson] = lessons(repo)["lessons"]
    assert (lesson["claim"], lesson["scope"], lesson["state"]) == (CLAIM, "value.txt", "active")
    assert lesson["supports"] and lesson["sources"] == list(range(1, 9))
    carried = [
        number for number in range(len(seen.bodies)) if f"about value.txt: {CLAIM}" in asked(seen, number)
    ]
    assert len(carried) == lesson["uses"] == lesson["wins"] <= 4
    assert "lessons pin" not in lessons(repo, "pin", "1")
    evolve(repo, "budget", "add", "proposals=3")
    before = len(seen.bodies)
    assert evolve(repo, "resume").returncode == 0
    new = [asked(seen, number) for number in range(before, len(seen.bodies))]
    assert [CLAIM in prompt for prompt in new] == [True] * 3
    [pinned] = lessons(repo, "show", "1")["lessons"]
    assert (pinned["state"], pinned["uses"]) == ("pinned", lesson["uses"] + 3)
    source = str(lesson["supports"][0])
    gone = lessons(repo, "forget", "--source", source)
    assert (gone["lessons"], gone["forgotten"]) == ([], 1)
    evolve(repo, "budget", "add", "proposals=2")
    before = len(seen.bodies)
    assert evolve(repo, "resume").returncode == 0
    assert not any(CLAIM in asked(seen, number) for number in range(before, len(seen.bodies)))
    with Reader(next((repo / ".git" / "evolve").iterdir()) / "campaign.db") as reader:
        assert {call.operator for call in reader.calls()} == {"edit", "reflect"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("pin 7", "there is no lesson 7"),
        ("forget", "say which lesson to forget"),
        ("forget --source 99", "nothing was learned from evaluation 99"),
        ("teach 1", "say show, forget, pin or unpin"),
        ("show one", "lessons have numbers"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path: Path, words: str, says: str) -> None:
    files = {"value.txt": "1\n", "evaluate.py": READ_VALUE}
    files["evolve.toml"] = TOML.format(base="http://127.0.0.1:1/v1", proposals=1)
    repo = repository(tmp_path / "repo", files)
    evolve(repo, "run")
    ran = evolve(repo, "lessons", *words.split())
    assert ran.returncode != 0
    assert says in ran.stderr
