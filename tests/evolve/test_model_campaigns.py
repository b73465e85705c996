"""Campaigns that pay for models: killed, out of money, with secrets, recorded and run again."""

from __future__ import annotations

import json
import re
import signal
import zlib
from pathlib import Path
from typing import Any

import pytest
from caserun import git
from scripted_server import Scripted, Seen, fails, says, server
from targets import READ_VALUE, config, evolve, repository
from test_crash import Target

import evolve as api
from archives.errors import ConfigError
from evolve.campaign import Campaign
from evolve.replaying import replay

MOST = 60
"""Longest reply in tokens; each answered call is billed 100 + 10."""


def reply(number: int) -> Scripted:
    return says(f"Try another value.\n\nvalue.txt\n```\n{number % 7}.{number}\n```\n")


def repo(folder: Path, **files: str) -> Path:
    return repository(folder, {"value.txt": "0\n", "evaluate.py": READ_VALUE, **files})


def models(seen: Seen, **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "api_base": seen.base, "max_tokens": MOST, "price_in": 1, "price_out": 2, **more}


def toml(seen: Seen, budget: str, more: str = "") -> str:
    entry = models(seen)
    pool = ", ".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
    return f"""[campaign]
name = "paid"
[artifact]
include = ["value.txt"]
[evaluator]
command = "python evaluate.py"
[promotion]
rule = "strict"
[workers]
propose = 1
evaluate = 1
reflect = 0
[operators]
edit = 1
[models]
pool = [{{ {pool} }}]
{more}
[budget]
{budget}
"""


def target(tmp_path: Path, text: str) -> Target:
    where = repo(tmp_path / "target")
    (where / "evolve.toml").write_text(text, encoding="utf-8")
    return Target(where, {})


def calls(campaign: Any) -> list[Any]:
    with campaign.reader() as reader:
        return list(reader.calls())


@pytest.mark.parametrize(
    ("point", "repeated"), [("models.started", True), ("models.answered", True), ("models.recorded", False)]
)
def test_a_killed_run_asks_again_only_what_was_in_flight_and_knows_what_it_cost(
    tmp_path: Path, point: str, repeated: bool
) -> None:
    with server(reply) as seen:
        place = target(tmp_path, toml(seen, "proposals = 4"))
        killed = place.start("run", EVOLVE_CRASH_AT=f"{point}:3", EVOLVE_CRASH_LOG=str(tmp_path / "fired"))
        assert killed.wait(120) == -signal.SIGKILL
        assert (tmp_path / "fired").read_text() == f"{point}\n"
        asked_before = len(seen.bodies)
        assert place.start("run").wait(120) == 0
    campaign = api.open(place.repo)
    rows = calls(campaign)
    assert len([row for row in rows if row.state == "answered"]) == 4
    lost = [row for row in rows if row.state == "lost"]
    assert len(lost) == (1 if repeated else 0)
    for row in lost:
        assert row.completion_tokens == MOST
        assert row.prompt_tokens > 0
    assert asked_before == (2 if point == "models.started" else 3)
    assert len(seen.bodies) == 4 + (1 if point == "models.answered" else 0)
    spent = place.ask("status")["spent"]
    assert spent["tokens"] == 440 + sum(row.prompt_tokens + row.completion_tokens for row in lost)


def test_a_short_campaign_that_nobody_answered_is_no_finished_one(tmp_path: Path) -> None:
    with server(lambda number: fails(401, "no such key")) as seen:
        place = target(tmp_path, toml(seen, "proposals = 2"))
        done = evolve(place.repo, "run")
    assert done.returncode == 1
    assert "nobody who was asked gave an answer" in done.stderr
    assert "no such key" in done.stderr
    assert place.ask("status")["state"] == "stopped"


def test_a_campaign_ends_when_the_next_call_does_not_fit_and_goes_on_with_more_money(tmp_path: Path) -> None:
    with server(reply) as seen:
        place = target(tmp_path, toml(seen, "usd = 0.003"))
        done = evolve(place.repo, "run")
        assert done.returncode == 0, done.stderr
        assert re.search(r"models: about 2 calls, \d,\d+ tokens, \$0.003", done.stderr)
        assert "the budget of 0.003 dollars for models is used up" in done.stderr
        status = place.ask("status")
        made = len(seen.bodies)
        assert status["state"] == "finished"
        assert status["spent"]["usd"] == pytest.approx(0.00012 * made)
        assert status["spent"]["usd"] <= 0.003
        assert status["candidates"] == made + 1
        bill = place.ask("costs")["total"]
        assert (bill["calls"], bill["failed"], bill["usd"]) == (made, 0, pytest.approx(0.00012 * made))
        assert evolve(place.repo, "budget", "add", "usd=0.001").returncode == 0
        assert evolve(place.repo, "resume").returncode == 0
        assert len(seen.bodies) > made
        assert place.ask("status")["spent"]["usd"] <= 0.004


def test_dollars_cannot_be_limited_where_the_price_is_not_known(tmp_path: Path) -> None:
    pool = [{"model": "tiny", "api_base": "http://127.0.0.1:9/v1"}]
    campaign = api.create(
        repo(tmp_path / "target"),
        config(operators={"edit": 1}, models={"pool": pool}, budget={"usd": 1.0}),
    )
    with pytest.raises(ConfigError, match=r"price of tiny is not known.*price_in and price_out"):
        campaign.run_sync()


SECRET = "gh" + "p_" + "a8Xk29QmZ71LpR4tY6uB3vN5cD0eF2gH7jKs"


def hosted(**more: Any) -> dict[str, Any]:
    return config(
        artifact={"include": ["value.txt", "keys/*"]},
        operators={"edit": 1},
        models={"pool": [{"model": "tiny", "api_base": "http://192.0.2.1/v1"}], **more},
        budget={"proposals": 1},
    )


def test_a_file_with_a_secret_stops_the_run_before_anything_is_sent(tmp_path: Path) -> None:
    place = repo(tmp_path / "target", **{"keys/a.txt": f"one\ntoken: {SECRET}\n"})
    campaign = api.create(place, hosted())
    with pytest.raises(ConfigError, match=r"keys/a\.txt:2 holds what looks like a GitHub token") as caught:
        campaign.run_sync()
    assert SECRET not in str(caught.value)
    assert 'allow_secrets = ["keys/a.txt"]' in str(caught.value)


def test_a_secret_that_the_evaluator_prints_is_not_sent(tmp_path: Path) -> None:
    leak = (
        "import json\n"
        f"print(json.dumps({{'score': float(open('value.txt').read()), 'feedback': 'token {SECRET}'}}))\n"
    )
    place = repo(tmp_path / "target", **{"evaluate.py": leak})
    campaign = api.create(place, hosted())
    assert campaign.run_sync().state == "finished"
    with campaign.reader() as reader:
        [proposal] = reader.proposals()
        assert list(reader.calls()) == []
    assert "nothing was sent: the prompt holds what looks like a GitHub token" in (proposal.reason or "")
    assert SECRET not in (proposal.reason or "")


def by_prompt(seen: Seen) -> Any:
    """Replies that depend on the prompt alone."""

    def answer(number: int) -> Scripted:
        if number % 5 == 3:
            return fails(500)
        asked = seen.bodies[number]["messages"]
        return (
            says("no edit")
            if len(asked) == 2 and number % 3 == 1
            else reply(zlib.crc32(repr(asked).encode()) % 97)
        )

    return answer


def story(campaign: Any) -> list[Any]:
    with campaign.reader() as reader:
        made = [(p.number, p.outcome, p.candidate, p.reason) for p in reader.proposals()]
        return [*made, *(e.score for e in reader.evaluations()), [c.candidate for c in reader.champions()]]


def test_a_recorded_campaign_runs_again_without_any_model(tmp_path: Path) -> None:
    """With replies that did not fit, requests that failed, and the budget's end."""
    holder: list[Seen] = []
    with server(lambda number: by_prompt(holder[0])(number)) as seen:
        holder.append(seen)
        place = target(tmp_path, toml(seen, "usd = 0.0025"))
        assert evolve(place.repo, "run").returncode == 0
        asked = len(seen.bodies)
    again = evolve(place.repo, "run", "--from-recording", "paid")
    assert again.returncode == 0, again.stderr
    first, second = api.open(place.repo, "paid"), api.open(place.repo, "paid-again")
    with first.reader() as one, second.reader() as two:
        ended = [each for each in one.proposals() if each.state == "done"]
        useful = [each for each in ended if each.outcome in ("candidate", "duplicate")]
        assert useful
        found = one.replies()
        assert (found.proposals, found.usable) == (len(ended), len(useful))
        assert found.replies > found.proposals
        assert two.replies() == found
    assert len(seen.bodies) == asked
    assert story(second) == story(first)
    assert {row.state for row in calls(second)} == {"repeated"}
    assert {row.reply for row in calls(second)} == {row.reply for row in calls(first)}
    bill = json.loads(evolve(place.repo, "costs", "--json", "--campaign", "paid-again").stdout)["total"]
    assert (bill["repeated"], bill["usd"]) == (len(calls(second)), 0)


def test_a_question_that_was_not_recorded_ends_the_run_with_its_place(tmp_path: Path) -> None:
    with server(reply) as seen:
        place = target(tmp_path, toml(seen, "proposals = 2"))
        assert evolve(place.repo, "run").returncode == 0
    again = replay(place.repo, "paid")
    with again.reader() as reader:
        assert reader.setting("base_commit") == git(place.repo, "rev-parse", "HEAD").strip()
    recorded = again.config.model_copy(
        update={"budget": again.config.budget.model_copy(update={"proposals": 3})}
    )
    longer = Campaign(again.repository, again.layout, recorded, again.prefix)
    ending = longer.run_sync()
    assert ending.failed
    assert "holds no reply to what edit asks for proposal 3" in ending.reason
    assert seen.bodies[2:] == []


def test_check_asks_each_model_once_and_says_what_it_is(tmp_path: Path) -> None:
    with server(reply) as seen, server(lambda _: fails(401, "bad key")) as deaf:
        place = target(tmp_path, toml(seen, "proposals = 10"))
        found = json.loads(evolve(place.repo, "check", "--models", "--json").stdout)
        [one] = found["models"]
        assert (one["model"], one["ok"], one["price_in"], one["usd"]) == ("tiny", True, 1.0, 0.00012)
        assert (found["estimate"]["calls"], len(seen.bodies)) == (12, 1)
        assert found["estimate"]["usd"] > 0
        assert found["sends"] == [f"value.txt → {seen.base} (tiny) on this machine"]
        (place.repo / "evolve.toml").write_text(toml(deaf, "proposals = 10"), encoding="utf-8")
        refused = evolve(place.repo, "check", "--models")
        assert refused.returncode == 1
        assert f"no answer: {deaf.base} (tiny): HTTP 401: bad key" in refused.stdout
        assert len(deaf.bodies) == 1


def test_check_stops_at_a_secret_and_says_how_to_go_on(tmp_path: Path) -> None:
    with server(reply) as seen:
        text = toml(seen, "proposals = 1").replace(seen.base, "http://192.0.2.1/v1")
    text = text.replace('include = ["value.txt"]', 'include = ["value.txt", "keys/"]')
    place = repo(tmp_path / "target", **{"keys/a.txt": f"one\ntoken: {SECRET}\n"})
    (place / "evolve.toml").write_text(text, encoding="utf-8")
    refused = evolve(place, "check")
    assert refused.returncode == 1
    assert "keys/a.txt:2 holds what looks like a GitHub token" in refused.stdout
    assert SECRET not in refused.stdout
    allowed = text.replace("[budget]", 'allow_secrets = ["keys/*"]\n[budget]')
    (place / "evolve.toml").write_text(allowed, encoding="utf-8")
    found = json.loads(evolve(place, "check", "--json").stdout)
    assert found["secrets"] == []
    assert found["sends"][0] == "keys/a.txt → http://192.0.2.1/v1 (tiny)"
