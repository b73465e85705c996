"""Campaigns whose proposals come from models, over real HTTP: what is asked, what counts, what is learned."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from handmade import SCHEMAS, evolve
from scripted_server import Scripted, Seen, says, server
from targets import config, repository

import evolve as api
from archives.records import Proposal

FILES = {
    "value.py": "VALUE = 1\n\n\ndef size():\n    number = VALUE\n    return number\n",
    "evaluate.py": "import value\nprint(float(value.size()))\n",
    "helper.py": "def secret_recipe(amount):\n    '''Doubles an amount.'''\n    return 2 * amount\n",
    "held.py": "def held_out(): pass\n",
}
MODELS = (
    {"model": "cheap", "price_in": 0.1, "price_out": 0.1},
    {"model": "dear", "price_in": 5, "price_out": 5},
)


def block(old: str, new: str, path: str = "value.py", title: str = "A change.") -> str:
    return f"{title}\n\n{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


@contextmanager
def answering(answer: Callable[[str, dict[str, Any]], str]) -> Iterator[Seen]:
    """A server that answers what stands in the last turn of a request."""
    known: list[Seen] = []

    def reply(number: int) -> Scripted:
        body = known[0].bodies[number]
        return says(answer(body["messages"][-1]["content"], body))

    with server(reply) as seen:
        known.append(seen)
        yield seen


def campaign(tmp_path: Path, seen: Seen, operators: dict[str, float], proposals: int, **tables: Any) -> Any:
    pool = [{**model, "api_base": seen.base} for model in MODELS]
    repo = repository(tmp_path / "target", {**FILES, **tables.pop("more", {})})
    made = api.create(
        repo,
        config(
            artifact={"include": ["value.py"]},
            holdout={"files": ["held.py"]},
            operators=operators,
            models={"pool": pool, **tables.pop("models", {})},
            budget={"proposals": proposals},
            **tables,
        ),
    )
    assert not made.run_sync().failed
    return made


def proposals(made: Any) -> list[Proposal]:
    with made.reader() as reader:
        return list(reader.proposals())


def user_turns(seen: Seen) -> Sequence[str]:
    return [body["messages"][1]["content"] for body in seen.bodies]


def larger(text: str, _: object) -> str:
    """One more than the value that is shown."""
    value = int(re.findall(r"^VALUE = (\d+)", text, re.MULTILINE)[-1])
    return block(f"VALUE = {value}", f"VALUE = {value + 1}", title=f"Makes it {value + 1}.")


def test_a_campaign_by_models_gets_on_and_says_which_prompts_made_it(tmp_path: Path) -> None:
    with answering(larger) as seen:
        made = campaign(tmp_path, seen, {"edit": 1.0}, 5)
        done = proposals(made)
    assert made.best().score == 6.0
    assert {one.model for one in done} <= {"cheap", "dear"}
    assert len({one.payload["prompt"] for one in done}) == 1
    assert made.best().proposals[-1].prompt == done[0].payload["prompt"]
    first, last = user_turns(seen)[0], user_turns(seen)[-1]
    assert "def secret_recipe(amount)" in first
    assert not any(word in turn for turn in user_turns(seen) for word in ("held_out", "float(value.size"))
    assert "The evaluator scored this version" in last


def test_what_was_tried_from_a_version_is_told(tmp_path: Path) -> None:
    with answering(lambda text, _: block("VALUE = 1", "VALUE = -3", title="Try minus three.")) as seen:
        campaign(tmp_path, seen, {"edit": 1.0}, 2, search={"policy": "independent"})
    assert "Tried from this version" not in user_turns(seen)[0]
    assert re.search(r"Try minus three: scored -3, 4 worse", user_turns(seen)[1])


def test_a_program_that_is_only_written_differently_is_not_judged(tmp_path: Path) -> None:
    renamed = "value.py\n```\nVALUE = 1  # one\n\ndef size():\n    result = VALUE\n    return result\n```\n"
    with answering(lambda *_: renamed) as seen:
        made = campaign(tmp_path, seen, {"edit": 1.0}, 2)
        judged = campaign(tmp_path / "again", seen, {"edit": 1.0}, 1, search={"near_duplicates": "judge"})
    assert [one.outcome for one in proposals(made)] == ["duplicate", "duplicate"]
    assert "written differently" in (proposals(made)[0].reason or "")
    assert [one.outcome for one in proposals(judged)] == ["candidate"]


def test_a_failing_candidate_is_fixed_once_with_its_error_at_hand(tmp_path: Path) -> None:
    def answer(text: str, _: object) -> str:
        if "These files do not work" in text:
            assert "NameError" in text
            return block("VALUE = ONE", "VALUE = 7", title="Defines it.")
        return block("VALUE = 1", "VALUE = ONE", title="Uses a name.")

    with answering(answer) as seen:
        made = campaign(tmp_path, seen, {"edit": 1.0, "fix": 50.0}, 3)
    done = proposals(made)
    assert [one.operator for one in done[:2]] == ["edit", "fix"]
    assert done[1].parent == done[0].candidate
    assert done[1].policy == "failed"
    assert made.best().score == 7.0


def test_each_operator_asks_in_its_own_words_and_simplification_is_rewarded(tmp_path: Path) -> None:
    def answer(text: str, _: object) -> str:
        if "shorter and plainer" in text:
            return block("    number = VALUE\n    return number", "    return VALUE", title="Shorter.")
        return larger(text, _)

    names = {"edit": 1.0, "rewrite": 1.0, "explore": 1.0, "simplify": 1.0}
    with answering(answer) as seen:
        made = campaign(tmp_path, seen, names, 16, search={"policy": "independent"})
    tasks = "\n".join(user_turns(seen))
    for words in ("Make one change", "as a whole", "Set its idea aside", "shorter and plainer"):
        assert words in tasks
    shorter = [one for one in proposals(made) if one.summary == "Shorter" and one.outcome == "candidate"]
    assert shorter[0].reward is not None
    assert shorter[0].reward >= 0.4


def test_a_prompt_that_is_too_long_is_made_shorter_and_asked_again(tmp_path: Path) -> None:
    sizes: list[int] = []

    def reply(number: int) -> Scripted:
        size = len(known[0].bodies[number]["messages"][1]["content"])
        sizes.append(size)
        if len(sizes) < 2:
            error = {
                "error": {"code": "context_length_exceeded", "message": "maximum context length exceeded"}
            }
            return Scripted(400, json.dumps(error).encode())
        return says(block("VALUE = 1", "VALUE = 2"))

    known: list[Seen] = []
    more = {f"m{n}.py": f"def work_{n}(first, second, third): pass\n" for n in range(200)}
    with server(reply) as seen:
        known.append(seen)
        made = campaign(tmp_path, seen, {"edit": 1.0}, 1, more=more)
    assert made.best().score == 2.0
    assert sizes[1] < sizes[0]
    shown = [turn.count("def work_") for turn in user_turns(seen)]
    assert 0 <= shown[1] < shown[0]


def test_prompts_of_ones_own_take_the_place_of_ours(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "edit.md").write_text("Bake a $objective cake.\n", encoding="utf-8")
    with answering(larger) as seen:
        made = campaign(tmp_path, seen, {"edit": 1.0}, 1, models={"prompts": str(own)})
        usual = campaign(tmp_path / "usual", seen, {"edit": 1.0}, 1)
    assert "Bake a score cake." in user_turns(seen)[0]
    versions = [proposals(one)[0].payload["prompt"] for one in (made, usual)]
    assert versions[0] != versions[1]


def test_status_shows_what_each_operator_and_model_has_won(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(text: str, body: dict[str, Any]) -> str:
        return larger(text, body) if body["model"] == "cheap" else "I would rather not."

    with answering(answer) as seen:
        made = campaign(tmp_path, seen, {"edit": 1.0, "mutate": 0.01}, 10)
    done = proposals(made)
    ran = evolve(capsys, "-C", tmp_path / "target", "status", "--arms", "--json")
    found = json.loads(ran.out)
    jsonschema.validate(found, json.loads((SCHEMAS / "status.json").read_text(encoding="utf-8")))
    arms = {(one["kind"], one["name"], one["model"]): one for one in found["arms"]}
    assert {("operator", "edit", "cheap"), ("operator", "edit", "dear"), ("operator", "mutate", None)} <= set(
        arms
    )
    assert sum(one["proposals"] for one in found["arms"] if one["kind"] == "operator") == len(done)
    cheap, dear = (arms["operator", "edit", model] for model in ("cheap", "dear"))
    asked = Counter(one.model for one in done)
    assert cheap["proposals"] == sum(cheap["outcomes"].values()) == asked["cheap"] > 0
    assert cheap["promoted"] == made.best().score - 1.0
    assert cheap["usd"] > 0
    assert dear["outcomes"] == ({"failed": asked["dear"]} if asked["dear"] else {})
    assert sum(one["share"] for one in found["arms"] if one["kind"] == "operator") == pytest.approx(1.0)
    shown = evolve(capsys, "-C", tmp_path / "target", "status", "--arms").out
    assert "cheap" in shown
    assert "policy" in shown
    assert json.loads(evolve(capsys, "-C", tmp_path / "target", "status", "--json").out)["arms"] is None
