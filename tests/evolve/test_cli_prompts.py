"""`evolve prompts` and `evolve try-reply`: what people who write prompts rely on."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from handmade import SCHEMAS, Handmade, evolve, git, handmade, make_repository

from evolve.prompts.templates import PLACEHOLDERS

Capture = pytest.CaptureFixture[str]
CASES = sorted((Path(__file__).parent.parent / "cases" / "model_reply").iterdir())


def tried(capsys: Capture, root: Path, *arguments: str | Path) -> tuple[int, Any]:
    ran = evolve(capsys, "-C", root, "try-reply", *arguments, "--json")
    found = json.loads(ran.out)
    jsonschema.validate(found, json.loads((SCHEMAS / "try-reply.json").read_text(encoding="utf-8")))
    return ran.code, found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_kind_of_reply_can_be_tried_without_a_campaign(
    case: Path, tmp_path: Path, capsys: Capture
) -> None:
    data = tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))
    given, expect = data["input"], data["expect"]
    root = tmp_path / "target"
    root.mkdir()
    for path, name in given["files"].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes((case / name).read_bytes())
    for path, target in given.get("links", {}).items():
        (root / path).symlink_to(target)
    (root / "judge.py").write_text("print(1)\n", encoding="utf-8")
    toml = f'[artifact]\ninclude = {json.dumps(given["include"])}\n[evaluator]\ncommand = "python judge.py"\n'
    (root / "evolve.toml").write_text(toml, encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        git(root, *words)
    last = given["replies"][-1]
    why = given.get("finish_reason", "stop")
    code, found = tried(capsys, root, case / last, "--finish-reason", why)
    wanted = expect.get("any_of", [expect])
    assert found["usable"] is (code == 0)
    assert any(
        one.get("outcome", expect.get("outcome")) == ("files" if code == 0 else "refused") for one in wanted
    )
    if code == 0:
        assert any(
            found["changed"] == {**expect, **one}["changed"]
            for one in wanted
            if "changed" in {**expect, **one}
        )
        assert found["diff"].startswith("diff --git")
    else:
        assert all(word in found["reason"] for word in expect.get("says", []))
        assert found["problems"]
    assert not (root / ".git" / "evolve").exists()


@pytest.fixture
def made(tmp_path: Path) -> Handmade:
    made = handmade(tmp_path)
    made.add("c1", 3.0)
    made.crown("c1", "base")
    return made.write()


def reply(tmp_path: Path, old: str, new: str, path: str = "value.txt") -> Path:
    file = tmp_path / "reply.md"
    file.write_text(
        f"More.\n\n{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n", encoding="utf-8"
    )
    return file


@pytest.mark.parametrize(
    ("parent", "old", "new", "path", "outcome"),
    [
        ("best", "c1", "c2", "value.txt", "candidate"),
        ("base", "base", "c1", "value.txt", "duplicate"),
        ("base", "base", "base", "value.txt", "unchanged"),
        ("base", "print(1)", "print(2)", "evaluate.py", "rejected"),
        ("base", "nowhere", "c1", "value.txt", "failed"),
    ],
)
def test_a_reply_is_tried_on_any_candidate_and_nothing_is_added(
    made: Handmade, tmp_path: Path, capsys: Capture, parent: str, old: str, new: str, path: str, outcome: str
) -> None:
    before = sorted(str(each) for each in (made.home / "store.git").rglob("*"))
    code, found = tried(capsys, made.root, reply(tmp_path, old, new, path), "--parent", parent)
    assert (found["outcome"], code) == (outcome, int(outcome != "candidate"))
    assert found["parent"] == made.ids["c1" if parent == "best" else parent]
    assert found["candidate"] == (made.ids["c1"] if outcome == "duplicate" else None)
    assert sorted(str(each) for each in (made.home / "store.git").rglob("*")) == before


def test_a_tried_reply_is_shown_as_a_diff_or_refused_in_one_line(
    made: Handmade, tmp_path: Path, capsys: Capture
) -> None:
    ran = evolve(capsys, "-C", made.root, "try-reply", reply(tmp_path, "c1", "c2"))
    assert ran.code == 0
    assert "-c1\n+c2" in ran.out
    ran = evolve(capsys, "-C", made.root, "try-reply", reply(tmp_path, "nowhere", "c2"))
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "nowhere" in ran.out


def target(tmp_path: Path, prompts: str = "") -> Path:
    root = tmp_path / "target"
    toml = '[artifact]\ninclude = ["a.py"]\n[evaluator]\ncommand = "python e.py"\n'
    if prompts:
        toml += f'[models]\nprompts = "{prompts}"\n'
    make_repository(root, {"a.py": "x = 1\n", "e.py": "print(1)\n", "evolve.toml": toml})
    return root


def test_prompts_are_listed_shown_and_copied(tmp_path: Path, capsys: Capture) -> None:
    root = target(tmp_path, "prompts")
    outside = evolve(capsys, "-C", tmp_path, "prompts", "--write", root / "prompts")
    assert outside.code == 0
    (root / "prompts" / "edit.md").write_text("Do $objective.\n", encoding="utf-8")
    kept = evolve(capsys, "-C", root, "prompts", "--write", root / "prompts", "--json")
    assert json.loads(kept.out)["written"] == []
    found = json.loads(evolve(capsys, "-C", root, "prompts", "--json").out)
    jsonschema.validate(found, json.loads((SCHEMAS / "prompts.json").read_text(encoding="utf-8")))
    assert [one["name"] for one in found["prompts"]] == list(PLACEHOLDERS)
    assert evolve(capsys, "-C", root, "prompts", "show", "edit").out == "Do $objective.\n"
    usual = json.loads(evolve(capsys, "-C", tmp_path, "prompts", "--json").out)
    differ = [
        a["name"]
        for a, b in zip(found["prompts"], usual["prompts"], strict=True)
        if a["version"] != b["version"]
    ]
    assert differ == ["edit"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("edit", "Do $wonders.", "unknown placeholder $wonders"),
        ("edit", "It costs $ 5", "a $ stands alone"),
        ("edti", "Do.", "did you mean edit.md?"),
        ("context", "$goal $task", "lacks $files"),
        ("again", "Once more.", "lacks $problems"),
    ],
)
def test_a_broken_prompt_is_one_line(
    tmp_path: Path, capsys: Capture, name: str, text: str, says: str
) -> None:
    root = target(tmp_path, "prompts")
    (root / "prompts").mkdir()
    (root / "prompts" / f"{name}.md").write_text(text, encoding="utf-8")
    for command in ("prompts", "run"):
        ran = evolve(capsys, "-C", root, command)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert says in ran.err
        assert f"{name}.md" in ran.err
    assert not (root / ".git" / "evolve").exists()


def test_a_prompt_that_does_not_exist_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    ran = evolve(capsys, "-C", target(tmp_path), "prompts", "show", "poem")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    missing = evolve(capsys, "-C", target(tmp_path / "b", "nowhere"), "prompts")
    assert (missing.code, missing.err.count("\n")) == (2, 1)
