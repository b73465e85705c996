from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from archives.errors import CampaignBusy
from evolve.ownership import own, owner

HOLD = """
import sys, time
from pathlib import Path
from evolve.ownership import own
with own(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from pathlib import Path
from archives.errors import CampaignBusy
from evolve.ownership import own
sys.stdin.readline()
try:
    with own(Path(sys.argv[1])):
        print("mine", flush=True)
        sys.stdin.readline()
except CampaignBusy as error:
    print("busy", flush=True)
"""


def start(program: str, lock: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_living_owner_is_named_and_a_dead_one_is_gone(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert owner(lock) is None
    holder = start(HOLD, lock)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "mine\n"
    assert owner(lock) == holder.pid
    with pytest.raises(CampaignBusy, match=str(holder.pid)) as caught, own(lock):
        pass
    assert caught.value.exit_code == 3
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert owner(lock) is None
    with own(lock):
        pass


def test_a_number_left_in_the_file_fools_nobody(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("1\n")
    assert owner(lock) is None


def test_of_twenty_at_once_one_gets_it(tmp_path: Path) -> None:
    racers = [start(TRY, tmp_path / "lock") for _ in range(20)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    words = [racer.stdout.readline() for racer in racers if racer.stdout is not None]
    for racer in racers:
        racer.communicate("done\n")
    assert sorted(words) == ["busy\n"] * 19 + ["mine\n"]
