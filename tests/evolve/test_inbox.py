from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from handmade import Handmade, handmade

import evolve as api
from archives.reader import Reader
from archives.records import Event
from evolve.campaign import Campaign
from evolve.inbox import NoAnswer, Request, answer_to, pending, post
from evolve.ownership import own
from evolve.steering import ask, settle, unsound


def actions(inbox: Path) -> list[str]:
    return [letter.request.action if letter.request else "?" for letter in pending(inbox)]


def opened(made: Handmade) -> Campaign:
    return api.open(made.root)


def setting(made: Handmade, name: str) -> object:
    with Reader(made.home / "campaign.db") as reader:
        return reader.setting(name)


def test_requests_are_taken_up_whole_and_in_order(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    sent = [Request("budget", {"proposals": n}, 7) for n in range(12)]
    for request in sent:
        post(inbox, request)
    assert [letter.request for letter in pending(inbox)] == sent


def test_an_inbox_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert pending(tmp_path / "inbox") == []


def test_of_many_senders_at_once_none_replaces_another(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    sent = [Request("pause") for _ in range(80)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda request: post(inbox, request), sent))
    found = [letter.request.id for letter in pending(inbox) if letter.request]
    assert sorted(found) == sorted(request.id for request in sent)
    assert [path for path in inbox.iterdir() if path.name.startswith(".")] == []


def test_a_request_that_is_still_being_written_is_not_seen(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    post(inbox, Request("pause"))
    (inbox / ".half.tmp").write_text('{"version": 1, "id"')
    (inbox / "notes.txt").write_text("of the user")
    assert actions(inbox) == ["pause"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 20_000,
        '{"version": 1, "id": "x", "action": "explode", "arguments": {}, "addressee": null}',
        '{"version": 2, "id": "x", "action": "stop", "arguments": {}, "addressee": null}',
        '{"version": 1, "id": 3, "action": "stop", "arguments": {}, "addressee": null}',
        '{"version": 1, "id": "x", "action": "stop", "arguments": [], "addressee": null}',
        '{"version": 1, "id": "x", "action": "stop", "arguments": {}, "addressee": "me"}',
        "\udcff\udcfe",
    ],
)
def test_what_is_no_request_is_told_apart(tmp_path: Path, text: str) -> None:
    (tmp_path / "00000001.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    post(tmp_path, Request("pause"))
    first, second = pending(tmp_path)
    assert first.request is None
    assert first.fault
    assert second.request is not None


def test_of_sender_and_owner_only_one_removes_a_request(tmp_path: Path) -> None:
    letter = post(tmp_path / "inbox", Request("pause"))
    [same] = pending(tmp_path / "inbox")
    assert same.discard()
    assert not letter.discard()


def test_a_request_answered_before_a_kill_is_not_done_again(tmp_path: Path) -> None:
    made = handmade(tmp_path)
    request = Request("budget", {"evaluations": 5})
    made.rows.append(Event("request", "budget: done", data={"request": request.id, "done": True}))
    made.write(budget_added={"evaluations": 5})
    post(made.home / "inbox", request)
    settle(opened(made))
    assert setting(made, "budget_added") == {"evaluations": 5}
    assert pending(made.home / "inbox") == []


def test_with_nobody_alive_the_sender_applies_what_waits_in_order(tmp_path: Path) -> None:
    made = handmade(tmp_path)
    inbox = made.home / "inbox"
    earlier = post(inbox, Request("budget", {"evaluations": 5})).request
    (inbox / "00000002.json").write_text("no request")
    answer = ask(opened(made), "budget", evaluations=3)
    assert answer.done
    assert answer.text.startswith("evaluations 18 (3 more)")
    assert setting(made, "budget_added") == {"evaluations": 8}
    assert setting(made, "budget") == {"evaluations": 18}
    with Reader(made.home / "campaign.db") as reader:
        assert earlier is not None
        first = answer_to(reader, earlier)
    assert first is not None
    assert first.text.startswith("evaluations 15 (5 more)")
    assert pending(inbox) == []


def test_an_owner_that_does_not_answer_is_named_and_the_request_withdrawn(tmp_path: Path) -> None:
    made = handmade(tmp_path)
    campaign = opened(made)
    with own(made.home / "lock"), pytest.raises(NoAnswer, match=str(os.getpid())) as caught:
        ask(campaign, "stop", patience=0.1)
    assert caught.value.exit_code == 1
    assert pending(made.home / "inbox") == []


def test_a_request_is_one_json_object_that_anybody_can_read(tmp_path: Path) -> None:
    letter = post(tmp_path, Request("stop", {"now": True}, 12, "abc"))
    assert json.loads(letter.path.read_text()) == {
        "version": 1,
        "id": "abc",
        "action": "stop",
        "arguments": {"now": True},
        "addressee": 12,
    }


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"time": 1},
        {"proposals": 0},
        {"proposals": -3},
        {"proposals": 1.5},
        {"usd": float("nan")},
        {"wall": float("inf")},
        {"tokens": True},
        {"usd": "5"},
    ],
)
def test_amounts_that_cannot_be_added_are_refused(more: dict[str, object]) -> None:
    assert unsound(more)


def test_amounts_that_can_be_added_are_not_refused() -> None:
    assert unsound({"proposals": 3, "wall": 0.5, "usd": 0.01, "tokens": 10.0}) is None
