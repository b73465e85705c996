"""A seat on another machine, without the cluster around it: it has nothing of the campaign but what it is sent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archives.shipping import Shipping
from archives.store import Store
from evaluators.contract import Outcome, Request
from evaluators.executors.node import Node, Order, Refused, packed, release
from evaluators.preparation import fingerprint
from evaluators.spec import EvaluatorSpec

EVALUATE = """import os, time, pathlib
if os.path.exists("wait"):
    print("begun", flush=True)
    time.sleep(60)
held = os.path.exists("held.txt")
print(float(open("value.txt").read()) + float(open("data/more.txt").read()) + 100 * held)
"""


class Sender:
    """The campaign's machine."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "target"
        (self.root / "data").mkdir(parents=True)
        for name, text in {"value.txt": "1\n", "evaluate.py": EVALUATE, "held.txt": "held\n"}.items():
            (self.root / name).write_text(text)
        git = ["git", "-C", str(self.root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
            subprocess.run([*git, *words], check=True)
        (self.root / "data" / "more.txt").write_text("0.5\n")
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        self.base = done.stdout.strip()
        self.store = Store.create(folder / "store.git", self.root / ".git", self.base)
        self.shipping = Shipping(self.store, self.base)
        self.spec = EvaluatorSpec(
            root=self.root, command="python evaluate.py", python=Path(sys.executable), data=("data",)
        )

    def order(self, **changes: Any) -> Order:
        prints = {one.path: fingerprint([(one.path, one.source)]) for one in self.spec.provisions()}
        order = Order(self.spec, prints, {}, "", lambda path: path == "held.txt", release())
        return replace(order, **changes)

    def ask(self, node: Node, errand: int, value: str | None, split: Any = "search", **more: bytes) -> Any:
        files = {"value.txt": value.encode()} if value else {}
        tree = self.store.write_tree(self.base, {**files, **more})
        return node.judge(errand, self.shipping.cargo(tree), tree, Request(tree, split=split), None)


@pytest.fixture
def sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sender:
    (tmp_path / "node").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "node"))
    return Sender(tmp_path / "home")


@contextmanager
def ready(sender: Sender, order: Order | None = None) -> Iterator[Node]:
    node = Node(order or sender.order())
    lacking = node.lacking()
    assert not isinstance(lacking, Refused)
    contents = [packed(sender.root / path) for path in lacking]
    assert node.settle(sender.shipping.base(), lacking, *contents) is None
    try:
        yield node
    finally:
        node.leave()


def seats(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("evolve-seats-*/*/*"))


def test_candidates_are_judged_as_they_were_sent(sender: Sender, tmp_path: Path) -> None:
    with ready(sender) as node:
        found = [sender.ask(node, number, f"{number}\n") for number in range(3)]
        assert [one.score for one in found] == [0.5, 1.5, 2.5]
        assert sender.ask(node, 3, None, "holdout").score == 101.5
        assert sender.ask(node, 4, None).score == 1.5  # and the holdout is gone again
        assert seats(tmp_path / "node") != []
    assert seats(tmp_path / "node") == []


def test_a_machine_without_the_repository_is_sent_what_it_lacks(sender: Sender) -> None:
    order = sender.order(spec=replace(sender.spec, hide=(sender.root / ".git" / "evolve",)))
    away = sender.root.rename(sender.root.parent / "elsewhere")
    node = Node(order)
    assert node.lacking() == ["data"]
    refused = node.settle(sender.shipping.base(), ["data"], packed(away / "evaluate.py"))
    assert isinstance(refused, Refused) and "data did not arrive" in refused.reason
    node.leave()
    node = Node(order)
    assert node.lacking() == ["data"]
    assert node.settle(sender.shipping.base(), ["data"], packed(away / "data")) is None
    assert sender.ask(node, 0, "2\n").score == 2.5
    node.leave()


def test_other_content_under_the_same_path_is_not_taken(sender: Sender) -> None:
    order = sender.order()
    (sender.root / "data" / "more.txt").write_text("9\n")
    node = Node(order)
    assert node.lacking() == ["data"]
    node.leave()


def test_a_cancelled_evaluation_ends_and_the_next_one_is_judged(sender: Sender) -> None:
    with ready(sender) as node:
        found: list[Outcome | None] = []
        judging = threading.Thread(target=lambda: found.append(sender.ask(node, 7, None, wait=b"x")))
        judging.start()
        _until(lambda: 7 in node._scopes)
        node.cancel(7)
        judging.join(30)
        assert found == [None]
        node.cancel(8)  # arrives before what it cancels
        assert sender.ask(node, 8, "5\n") is None
        assert sender.ask(node, 9, "5\n").score == 5.5


def test_seats_side_by_side_have_numbers_of_their_own_and_take_over_what_was_left(sender: Sender) -> None:
    with ready(sender) as one:
        with ready(sender) as two:
            assert (one._number, two._number) == (0, 1)
            (two._folder / "left").write_text("by a killed one")
            home = two._folder
        with ready(sender) as again:
            assert again._folder == home
            assert not (home / "left").exists()


def test_another_version_is_refused(sender: Sender) -> None:
    refused = Node(sender.order(release="0.0.0")).lacking()
    assert isinstance(refused, Refused) and "not 0.0.0" in refused.reason


def test_an_evaluator_that_cannot_be_started_is_a_refusal(sender: Sender) -> None:
    spec = replace(sender.spec, python=Path("/nowhere/python"))
    with ready(sender, sender.order(spec=spec)) as node:
        refused = sender.ask(node, 0, "5\n")
        assert isinstance(refused, Refused) and "/nowhere/python" in refused.reason


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


def test_variables_reach_evaluations(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    order = sender.order(spec=replace(sender.spec, env=("GREETING",)), environment={"GREETING": "4"})
    said = b"import os\nprint(float(os.environ['GREETING']))\n"
    with ready(sender, order) as node:
        assert sender.ask(node, 0, None, **{"evaluate.py": said}).score == 4.0
