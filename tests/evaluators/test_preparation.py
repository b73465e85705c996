from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from evaluator_bench import Slot

from archives.errors import EvaluatorError
from evaluators.preparation import fingerprint, run_setup


def test_what_the_set_up_made_appears_in_every_checkout(tmp_path: Path) -> None:
    slot = Slot.make(tmp_path)
    prepared = tmp_path / "prepared"
    (prepared / "tools").mkdir(parents=True)
    spec = slot.spec(setup="mkdir build && echo 7 > build/number && echo 1 > tools/one")
    made = run_setup(spec, prepared)
    assert [item.path for item in made] == ["build", "tools/one"]
    slot.write(evaluate="print(int(open('build/number').read()) + int(open('tools/one').read()))")
    assert slot.evaluate(provided=made).score == 8.0
    assert run_setup(replace(spec, setup=None), prepared) == ()


def test_a_set_up_that_fails_says_why(tmp_path: Path) -> None:
    slot = Slot.make(tmp_path)
    with pytest.raises(EvaluatorError, match="exit 3: no compiler"):
        run_setup(slot.spec(setup="echo no compiler >&2; exit 3"), slot.checkout)


ALONE = """
import sys
from pathlib import Path
from evaluators.preparation import run_setup
from evaluators.spec import EvaluatorSpec
folder = Path(sys.argv[1])
run_setup(EvaluatorSpec(root=folder, command="true", setup="sleep 60 & echo $$ $! > pids; wait"), folder)
"""


def test_a_set_up_ends_with_whoever_asked_for_it_even_if_that_is_killed(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", ALONE, str(tmp_path)])
    pids = tmp_path / "pids"
    _until(lambda: pids.is_file() and len(pids.read_text().split()) == 2)
    owner.kill()
    owner.wait()
    _until(lambda: not any(_lives(pid) for pid in pids.read_text().split()))


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_fingerprint_sees_every_change_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a").write_text("1")
    (folder / "link").symlink_to("sub/a")
    seen = [fingerprint([("data", folder)])]
    assert fingerprint([("data", folder)]) == seen[0]
    for change in (
        lambda: (folder / "sub" / "a").write_text("2"),
        lambda: (folder / "sub" / "a").chmod(0o755),
        lambda: (folder / "sub" / "a").rename(folder / "sub" / "b"),
        lambda: (folder / "link").unlink(),
        lambda: (folder / "empty").mkdir(),
    ):
        change()
        seen.append(fingerprint([("data", folder)]))
    assert len(set(seen)) == len(seen)
