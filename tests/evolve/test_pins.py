"""What judges is found, pinned by content, and looked at at each verdict."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from targets import config, patches, repository

import evolve as api
from archives.errors import EvaluatorError
from evolve.inbox import Request, post
from evolve.judging import judging_files
from evolve.pins import JudgeChanged, Pins

FILES = {
    "bench/run.py": "from helpers import load\nimport bench.score as s\nfrom . import near\nopen('bench/data/x.csv')\n",
    "bench/near.py": "import json\n",
    "bench/score.py": "from lib.deep import (one, two)\nimport fast\n",
    "helpers.py": "",
    "lib/__init__.py": "",
    "lib/deep/__init__.py": "",
    "lib/deep/one.py": "DATA = 'cases/'\n",
    "cases/a.json": "{}",
    "cases/b.json": "{}",
    "bench/data/x.csv": "1\n",
    "fast.py": "import slow\n",
    "slow.py": "",
    "README.md": "See bench/run.py.\n",
    "lib/other.py": "",
}


def test_what_judges_is_what_the_command_names_and_what_that_leads_to() -> None:
    def read(path: str) -> bytes | None:
        return FILES[path].encode() if path in FILES else None

    found = judging_files(
        ["python", "bench/run.py"], frozenset(FILES), read, "", lambda path: path == "fast.py"
    )
    expected = set(FILES) - {"fast.py", "slow.py", "README.md", "lib/other.py"}
    assert set(found) == expected


@pytest.mark.parametrize("word", ["", "..", "/", "a b", "-v", "bench/missing.py"])
def test_words_that_name_nothing_lead_nowhere(word: str) -> None:
    assert judging_files([word], frozenset(FILES), lambda path: None, "", lambda path: False) == ()


def test_only_other_bytes_count(tmp_path: Path) -> None:
    file, folder = tmp_path / "a.txt", tmp_path / "data"
    file.write_text("1")
    folder.mkdir()
    (folder / "b.txt").write_text("2")
    pins = Pins.of({"a.txt": file, "data": folder, "gone": tmp_path / "gone"})
    os.utime(file, (1, 1))
    (folder / "b.txt").write_text("2")
    assert pins.changed() == []
    again = Pins.said(pins.facts(), {"a.txt": file, "data": folder, "gone": tmp_path / "gone"})
    assert again.changed() == []
    (folder / "c.txt").write_text("3")
    file.write_text("11")
    (tmp_path / "gone").write_text("there")
    with pytest.raises(JudgeChanged, match=r"^a\.txt and 2 more has changed since it was first relied on"):
        again.check()


def campaign(folder: Path, judge: str):  # type: ignore[no-untyped-def]
    repo = repository(folder, {"value.txt": "0\n", "evaluate.py": judge, ".gitignore": "table.csv\n"})
    (repo / "table.csv").write_text("1\n", encoding="utf-8")
    changes = patches(repo, "value.txt", {str(n): f"{n}\n" for n in range(1, 5)})
    evaluator = {"command": "python evaluate.py", "data": ["table.csv"], "sandbox": "none"}
    return api.create(repo, config(evaluator=evaluator, operators={"patches": {"folder": str(changes)}}))


def test_a_verdict_under_which_the_data_changed_is_not_believed(tmp_path: Path) -> None:
    table = tmp_path / "target" / "table.csv"
    judge = f"value = float(open('value.txt').read())\nif value == 2:\n    open('{table}', 'a').write('2')\nprint(value)\n"
    run = campaign(tmp_path / "target", judge)
    with pytest.raises(EvaluatorError, match=r"table\.csv has changed"):
        run.run_sync()
    with run.reader() as reader:
        assert [one.score for one in reader.evaluations()] == [0.0, 1.0]
        assert (reader.setting("state"), reader.setting("failed")) == ("stopped", True)
    table.write_text("1\n", encoding="utf-8")
    with pytest.raises(EvaluatorError, match=r"table\.csv has changed"):
        run.run_sync()
    with run.reader() as reader:
        assert len(list(reader.evaluations())) == 2


def test_a_running_campaign_judges_again_at_once(tmp_path: Path) -> None:
    run = campaign(
        tmp_path / "target", "import time\ntime.sleep(0.5)\nprint(float(open('value.txt').read()))\n"
    )
    asked: list[str] = []

    def listener(kind: str, what: object) -> None:
        if kind == "proposal" and not asked:
            asked.append(what.candidate)  # type: ignore[attr-defined]
            post(run.layout.inbox, Request("reevaluate", {"candidate": asked[0]}))

    assert run.run_sync(listener).state == "finished"
    with run.reader() as reader:
        looks = [(one.purpose, one.seed, one.score) for one in reader.evaluations(asked[0])]
        assert looks == [("search", 0, 1.0), ("confirm", 2, 1.0)]
        assert reader.setting("claims") == []
