"""A campaign in the background: real processes, real terminals, real kills."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from caserun import alive, await_evaluations, environment, fingerprint
from targets import READ_VALUE, TOML, config, evolve, patches, repository

import evolve as api
from archives.reader import Reader
from evolve import background
from evolve.campaign import Campaign
from evolve.inbox import NoAnswer, Request, post
from evolve.lookup import prepare
from evolve.steering import ask

SLOW = "import time\ntime.sleep(0.3)\n" + READ_VALUE
STARTS = 20 if os.environ.get("EVOLVE_TORTURE") else 6


def target(folder: Path, evaluations: int, evaluate: str = SLOW, more: str = "") -> Path:
    toml = TOML.format(evaluations=evaluations) + more
    return repository(folder, {"value.txt": "1.0\n", "evaluate.py": evaluate, "evolve.toml": toml})


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Path]:
    """A repository whose campaign takes a minute; whatever a test leaves running is ended."""
    repo = target(tmp_path / "slow target", 200)
    yield repo
    with contextlib.suppress(api.EvolveError):
        if pid := api.open(repo).owner():
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)
    assert gone(repo)


def gone(repo: Path, patience: float = 20.0) -> bool:
    """Whether no process of the campaign is left; the kernel may need a moment to bury a killed tree."""
    deadline = time.monotonic() + patience
    while alive(str(repo)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(str(repo))


def until(condition: Any, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.02)


def detached(repo: Path) -> tuple[Campaign, int]:
    """The campaign of a repository, running in the background, and its orchestrator."""
    started = background.start(prepare(repo))
    campaign = api.open(repo)
    assert campaign.owner() == started.pid
    return campaign, started.pid


def status(repo: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(evolve(repo, "status", "--json").stdout)
    return answer


def runs(campaign: Campaign) -> list[tuple[int, str, int]]:
    """Evaluations in the journal: number, candidate, seed."""
    with campaign.reader() as reader:
        return [(e.id, e.candidate, e.seed) for e in reader.evaluations()]


def workers(pid: int) -> list[int]:
    """The evaluation servers of an orchestrator."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"serve.py" in Path(f"/proc/{child}/cmdline").read_bytes()]


def below(pid: int) -> list[int]:
    """All processes below one."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, children) for one in (child, *below(child))]


def in_flight(campaign: Campaign) -> int:
    with campaign.reader() as reader:
        return len([*reader.proposals("open"), *reader.proposals("made")])


def finish(repo: Path, before: list[tuple[int, str, int]], beyond: int = 3) -> None:
    """Go on to an end, then see that nothing was lost and nothing counted twice."""
    (repo / "evolve.toml").write_text(TOML.format(evaluations=len(before) + beyond))
    assert evolve(repo, "resume").returncode == 0
    after = runs(api.open(repo))
    assert after[: len(before)] == before
    assert [number for number, _, _ in after] == list(range(1, len(after) + 1))
    assert len({run[1:] for run in after}) == len(after)


def test_a_campaign_in_the_background_runs_to_its_end_and_wait_says_so(tmp_path: Path) -> None:
    repo = target(tmp_path / "target", 16, more="[workers]\npropose = 1\nevaluate = 1\n")
    before = fingerprint(repo)
    ran = evolve(repo, "run", "--detach")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "next: evolve status" in ran.stdout
    assert evolve(repo, "run").returncode == 3
    mark = tmp_path / "mark"
    waited = evolve(repo, "wait", "--timeout", "2m", "--then", f'echo "$EVOLVE_STATE" > "{mark}"')
    assert (waited.returncode, mark.read_text()) == (0, "finished\n")
    assert gone(repo)
    assert fingerprint(repo) == before
    assert len(runs(api.open(repo))) == 16
    added = evolve(repo, "budget", "add", "evaluations=3")
    assert "19 (3 more)" in added.stderr
    assert evolve(repo, "resume", "--detach").returncode == 0
    assert evolve(repo, "wait").returncode == 0
    assert len(runs(api.open(repo))) == 19


def test_closing_the_terminal_does_nothing_to_a_campaign_in_the_background(slow: Path) -> None:
    in_terminal(slow, "run", "--detach", until_it_ends=True)
    campaign = api.open(slow)
    pid = campaign.owner()
    assert pid
    os.kill(pid, signal.SIGHUP)
    await_evaluations(slow, len(runs(campaign)) + 2)
    assert campaign.owner() == pid
    assert ask(campaign, "stop", now=True).done
    assert background.wait(campaign, 60).state == "stopped"
    assert gone(slow)


def test_closing_the_terminal_of_a_run_leaves_nothing_and_loses_nothing(slow: Path) -> None:
    in_terminal(slow, "run", until_it_ends=False)
    assert gone(slow)
    campaign = api.open(slow)
    finish(slow, runs(campaign))


def in_terminal(repo: Path, *arguments: str, until_it_ends: bool) -> None:
    """Run a command in a terminal, and close the terminal when the command has ended or well begun."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(repo)
        command = [sys.executable, "-m", "evolve", *arguments]
        os.execve(sys.executable, command, environment())
    if until_it_ends:
        with contextlib.suppress(OSError):  # the other end is closed
            while os.read(terminal, 1024):
                pass
    else:
        await_evaluations(repo, 3)
    os.close(terminal)
    os.waitpid(pid, 0)


def test_a_killed_orchestrator_is_seen_at_once_and_leaves_nothing(slow: Path) -> None:
    campaign, pid = detached(slow)
    await_evaluations(slow, 3)
    os.kill(pid, signal.SIGKILL)
    rest = background.wait(campaign, 60)
    assert (rest.state, rest.failed, rest.over) == ("dead", True, True)
    assert gone(slow)
    before = runs(campaign)
    assert evolve(slow, "wait").returncode == 1
    assert "dead" in evolve(slow, "status").stdout
    finish(slow, before)


def test_a_killed_worker_costs_the_campaign_nothing(slow: Path) -> None:
    campaign, pid = detached(slow)
    await_evaluations(slow, 2)
    killed = workers(pid)
    assert killed
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    await_evaluations(slow, len(runs(campaign)) + 6)
    assert campaign.owner() == pid
    assert ask(campaign, "stop").done
    assert not background.wait(campaign, 60).failed
    finish(slow, runs(campaign))


def test_a_frozen_worker_is_given_up_at_its_time_limit_and_its_late_result_does_not_count(
    tmp_path: Path,
) -> None:
    repo = target(tmp_path / "target", 200)
    toml = repo / "evolve.toml"
    toml.write_text(toml.read_text().replace('evaluate.py"\n', 'evaluate.py"\ntimeout = "1s"\n'))
    campaign, pid = detached(repo)
    await_evaluations(repo, 2)
    frozen = [one for worker in workers(pid) for one in (worker, *below(worker))]
    assert len(frozen) > 1
    for worker in frozen:
        os.kill(worker, signal.SIGSTOP)
    await_evaluations(repo, len(runs(campaign)) + 6)
    for worker in frozen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
    assert ask(campaign, "stop").done
    assert not background.wait(campaign, 60).failed
    assert gone(repo)
    found = runs(campaign)
    assert [number for number, _, _ in found] == list(range(1, len(found) + 1))
    assert len({run[1:] for run in found}) == len(found)


def test_pause_drains_resume_goes_on_and_added_budget_holds_at_once(slow: Path) -> None:
    campaign, pid = detached(slow)
    await_evaluations(slow, 2)
    assert ask(campaign, "pause").done
    until(lambda: in_flight(campaign) == 0)
    found = status(slow)
    assert (found["state"], found["pid"], found["in_flight"]) == ("paused", pid, 0)
    resting = len(runs(campaign))
    assert "15 more" in ask(campaign, "budget", evaluations=15).text
    assert status(slow)["budget"]["evaluations"]["limit"] == 215
    assert not ask(campaign, "budget", tokens=5).done
    assert evolve(slow, "resume").stdout == f"campaign {campaign.name} (process {pid}) goes on\n"
    await_evaluations(slow, resting + 2)
    assert evolve(slow, "resume").returncode == 3
    assert ask(campaign, "stop").done
    rest = background.wait(campaign, 60)
    assert (rest.state, rest.reason, rest.failed) == ("stopped", "stopped by `evolve stop`", False)
    assert (status(slow)["in_flight"], gone(slow)) == (0, True)
    words = evolve(slow, "logs").stdout
    assert all(word in words for word in ("started", "pause: ", "budget: ", "resume: ", "stop: ", "stopped"))
    log = (campaign.home / "logs" / "run.log").read_text()
    assert "Traceback" not in log
    assert "request: pause" in log


NOISY = """import json, os, random, time
time.sleep(0.2)
seed = json.load(open(os.environ["EVOLVE_REQUEST"]))["seed"]
value = float(open("value.txt").read())
print(value + random.Random(f"{seed}/{value}").gauss(0, 0.5))
"""


def test_stop_breaks_a_gate_off_and_a_later_run_goes_on_with_its_pairs(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": NOISY})
    folder = patches(repo, "value.txt", {"better": "3.0\n"})
    tables = config(promotion={"rule": "evalue"}, operators={"patches": {"folder": str(folder)}})
    campaign = api.create(repo, tables)
    background.start(campaign)

    def gates() -> list[tuple[int, str, int]]:
        with campaign.reader() as reader:
            return [(e.id, e.candidate, e.seed) for e in reader.evaluations(purpose="gate")]

    until(lambda: len(gates()) >= 3)
    assert ask(campaign, "stop").done
    assert background.wait(campaign, 60).state == "stopped"
    before = gates()
    assert campaign.best().candidate == campaign.show("base").candidate
    assert campaign.run_sync().state == "finished"
    assert gates()[: len(before)] == before
    assert len({run[1:] for run in gates()}) == len(gates()) > len(before)
    [decision] = campaign.best().evidence
    assert decision.promoted
    assert 2 * decision.numbers["pairs"] == len(gates())


def test_stop_now_gives_up_what_is_in_flight_and_loses_nothing(tmp_path: Path) -> None:
    repo = target(
        tmp_path / "target",
        50,
        "import time\ntime.sleep(8 * ('1.0' not in open('value.txt').read()))\n" + READ_VALUE,
    )
    campaign, _ = detached(repo)
    until(lambda: in_flight(campaign) > 0)
    ran = evolve(repo, "stop", "--now")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert campaign.owner() is None
    assert gone(repo)
    found = status(repo)
    assert (found["state"], found["reason"]) == ("stopped", "stopped at once by `evolve stop --now`")
    assert found["in_flight"] > 0
    assert evolve(repo, "wait").returncode == 0
    (repo / "evolve.toml").write_text(TOML.format(evaluations=len(runs(campaign)) + 1))
    assert evolve(repo, "run").returncode == 0
    assert [number for number, _, _ in runs(campaign)] == list(range(1, len(runs(campaign)) + 1))


@pytest.mark.parametrize(
    ("more", "evaluate", "code", "says"),
    [
        ('[operators]\npatches = { folder = "no such folder" }\n', READ_VALUE, 1, "no such folder"),
        ("[operators]\nmutate = 1\n", READ_VALUE, 2, "operators.mutate"),
        ("[operators]\nedit = 1\n", READ_VALUE, 2, "operators.edit"),
        ("[workers]\nevaluat = 3\n", READ_VALUE, 2, "did you mean evaluate?"),
        ("", "import no_such_module\n", 1, "no_such_module"),
    ],
)
def test_what_is_wrong_is_said_before_the_command_returns(
    tmp_path: Path, more: str, evaluate: str, code: int, says: str
) -> None:
    repo = target(tmp_path / "target", 20, evaluate, more)
    foreground = evolve(repo, "run")
    ran = evolve(repo, "run", "--detach")
    assert ran.returncode == foreground.returncode
    assert ran.returncode in (code, 2)
    assert says in ran.stderr
    assert (ran.stdout, ran.stderr.count("\n")) == ("", 1)
    assert gone(repo)


def test_an_orchestrator_that_dies_while_it_starts_is_reported(tmp_path: Path) -> None:
    repo = target(tmp_path / "target", 4, READ_VALUE)
    assert evolve(repo, "run").returncode == 0
    ran = evolve(repo, "resume", "--detach", EVOLVE_CRASH_AT="journal.before-commit:1")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert "ended by signal 9" in ran.stderr
    assert gone(repo)


def test_of_many_starts_at_once_one_owns_the_campaign(slow: Path) -> None:
    command = [sys.executable, "-m", "evolve", "run", "--detach"]
    racers = [
        subprocess.Popen(command, cwd=slow, env=environment(), stderr=subprocess.PIPE, text=True)
        for _ in range(STARTS)
    ]
    words = [racer.communicate(timeout=300)[1] for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0] + [3] * (STARTS - 1), words
    assert sum("already running" in said for said in words) == STARTS - 1
    assert ask(api.open(slow), "stop", now=True).done
    assert gone(slow)


def test_a_frozen_orchestrator_keeps_the_campaign_and_goes_on_when_thawed(slow: Path) -> None:
    campaign, pid = detached(slow)
    await_evaluations(slow, 3)
    os.kill(pid, signal.SIGSTOP)
    assert evolve(slow, "run").returncode == 3
    with pytest.raises(NoAnswer, match=str(pid)):
        ask(campaign, "pause", patience=0.3)
    frozen = len(runs(campaign))
    os.kill(pid, signal.SIGCONT)
    await_evaluations(slow, frozen + 3)
    assert status(slow)["state"] == "running"  # the request was withdrawn
    assert ask(campaign, "stop").done
    assert not background.wait(campaign, 60).failed
    finish(slow, runs(campaign))


def test_a_stop_meant_for_a_dead_orchestrator_does_not_stop_the_next(tmp_path: Path) -> None:
    repo = target(tmp_path / "target", 5, READ_VALUE)
    assert evolve(repo, "run").returncode == 0
    campaign = api.open(repo)
    post(campaign.layout.inbox, Request("stop", {"now": True}, 1))
    post(campaign.layout.inbox, Request("budget", {"evaluations": 2}, 1))
    assert evolve(repo, "resume").returncode == 0
    found = status(repo)
    assert (found["state"], found["evaluations"]) == ("finished", 7)
    assert list(campaign.layout.inbox.iterdir()) == []


def test_added_budget_survives_a_kill_between_the_answer_and_the_removal_of_the_request(slow: Path) -> None:
    campaign, pid = detached(slow)
    os.kill(pid, signal.SIGKILL)
    until(lambda: campaign.owner() is None)
    ask(campaign, "budget", evaluations=5)
    with campaign.reader() as reader:
        [answered] = [e.data["request"] for e in reader.events() if e.kind == "request"]
    post(campaign.layout.inbox, Request("budget", {"evaluations": 5}, None, answered))
    campaign, _ = detached(slow)
    until(lambda: not list(campaign.layout.inbox.iterdir()))
    assert status(slow)["budget"]["evaluations"]["limit"] == 205
    assert ask(campaign, "stop", now=True).done
    background.wait(campaign, 60)


def test_a_target_with_a_package_called_evolve_runs_in_the_background(tmp_path: Path) -> None:
    files = {
        "evolve/__init__.py": "raise SystemExit('theirs was imported')\n",
        "archives/__init__.py": "raise SystemExit('theirs was imported')\n",
        "value.txt": "1.0\n",
        "evaluate.py": READ_VALUE,
        "evolve.toml": TOML.format(evaluations=4),
    }
    repo = repository(tmp_path / "target", files)
    background.start(prepare(repo))
    campaign = api.open(repo)
    assert background.wait(campaign, 60).state == "finished"
    assert len(runs(campaign)) == 4


def test_time_spent_in_earlier_runs_counts(slow: Path) -> None:
    campaign, _ = detached(slow)
    await_evaluations(slow, 6)
    ask(campaign, "stop")
    background.wait(campaign, 60)
    with Reader(campaign.layout.database) as reader:
        spent = reader.setting("spent")["wall"]
    (slow / "evolve.toml").write_text(TOML.format(evaluations=200) + f"wall = {spent / 2}\n")
    assert evolve(slow, "resume").returncode == 0
    assert "wall time is used up" in status(slow)["reason"]


def test_watch_and_logs_follow_a_run_to_its_end(tmp_path: Path) -> None:
    repo = target(tmp_path / "target", 10)
    campaign, _ = detached(repo)
    command = [sys.executable, "-m", "evolve"]
    followers = [
        subprocess.Popen(
            [*command, *words],
            cwd=repo,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in (["watch"], ["logs", "-f"])
    ]
    background.wait(campaign, 60)
    [(watched, told), (logged, _)] = [one.communicate(timeout=60) for one in followers]
    assert [one.returncode for one in followers] == [0, 0]
    assert "evaluations 10/10" in watched.splitlines()[-1]
    assert told.startswith("finished: ")
    assert " finished " in logged.splitlines()[-1]
