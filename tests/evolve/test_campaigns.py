"""Whole campaigns on small repositories: what a user may rely on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from caserun import alive, await_evaluations, environment, fingerprint, git
from targets import READ_VALUE, TOML, config, evolve, patches, repository

import evolve as api
from archives.records import Decision


def decisions(campaign: Any) -> list[Decision]:
    with campaign.reader() as reader:
        return list(reader.decisions())


def run_patches(repo: Path, texts: dict[str, str], path: str = "value.txt", **tables: Any) -> Any:
    folder = patches(repo, path, texts)
    campaign = api.create(repo, config(operators={"patches": {"folder": str(folder)}}, **tables))
    assert not campaign.run_sync().failed
    return campaign


def test_a_target_with_packages_named_like_ours_runs_a_campaign(tmp_path: Path) -> None:
    files = {
        "evolve/__init__.py": "def strength():\n    return 3.0\n",
        "evaluators/__init__.py": "from evolve import strength\n\ndef judge():\n    return strength()\n",
        "archives/__init__.py": "NAME = 'theirs'\n",
        "evaluate.py": "import archives, evaluators\n\n"
        "def evaluate(candidate_dir, request):\n    assert archives.NAME == 'theirs'\n    return evaluators.judge()\n\n"
        "if __name__ == '__main__':\n    print(evaluate('.', {}))\n",
    }
    for number, form in enumerate(({"function": "evaluate.py:evaluate"}, {"command": "python evaluate.py"})):
        repo = repository(tmp_path / f"target{number}", files)
        campaign = api.create(
            repo,
            {
                "artifact": {"include": ["evolve/*.py"]},
                "evaluator": form,
                "operators": {"tune": 1},
                "budget": {"evaluations": 12},
            },
        )
        assert campaign.run_sync().state == "finished"
        assert campaign.best().score is not None
        assert campaign.best().score > 3.0


NOISY = """import json, os, random
request = json.load(open(os.environ["EVOLVE_REQUEST"]))
value = float(open("value.txt").read())
print(value + random.Random(f"{request['seed']}/{value}").gauss(0, 0.5))
"""


def test_noise_is_found_out_and_luck_is_not_promoted(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": NOISY})
    same = {f"c{n}": f"1.{'0' * (n + 2)}\n" for n in range(3)}
    campaign = run_patches(repo, same, promotion={"pairs": 20})
    with campaign.reader() as reader:
        assert reader.setting("rule") == "evalue"
        assert reader.setting("noise") > 0.1
        assert reader.setting("depth") > 1
    assert campaign.best().candidate == campaign.show("base").candidate
    assert all(not d.promoted for d in decisions(campaign))


def test_a_real_gain_under_noise_is_proven_in_paired_runs(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": NOISY})
    campaign = run_patches(repo, {"better": "3.0\n"}, promotion={"pairs": 40})
    decision = decisions(campaign)[-1]
    # A strict rule asked for by name is not changed behind the user's back.
    assert (decision.rule, decision.promoted) == ("strict", True) or decision.rule == "evalue"
    other = repository(tmp_path / "auto", {"value.txt": "1.0\n", "evaluate.py": NOISY})
    campaign = run_patches(other, {"better": "3.0\n"}, promotion={})
    decision = decisions(campaign)[-1]
    assert (decision.rule, decision.promoted) == ("evalue", True)
    assert decision.evidence["e_value"] >= decision.evidence["needed"]
    with campaign.reader() as reader:
        gates = [e for e in reader.evaluations() if e.purpose == "gate"]
    assert len({(e.candidate, e.seed) for e in gates}) == len(gates) == 2 * decision.evidence["pairs"]


def test_a_deterministic_looking_evaluator_is_looked_at_twice(tmp_path: Path) -> None:
    jumpy = READ_VALUE.replace("file.read())", "file.read()) + (0 if seed < 5 else -5)").replace(
        "with open",
        "import json, os\nseed = json.load(open(os.environ['EVOLVE_REQUEST']))['seed']\nwith open",
        1,
    )
    jumpy = jumpy.replace("seed < 5", "seed == 0 or float(open('value.txt').read()) == 1")
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": jumpy})
    campaign = run_patches(repo, {"lucky": "2.0\n"}, promotion={})
    assert campaign.best().score == 1.0
    with campaign.reader() as reader:
        assert reader.setting("rule") == "evalue"


HOLDOUT = """import json, os
request = json.load(open(os.environ["EVOLVE_REQUEST"]))
value = float(open("value.txt").read())
assert os.path.exists("secret/truth.txt") == (request["split"] == "holdout")
print(value if request["split"] == "search" else -value)
"""


def test_the_holdout_has_the_last_word_and_the_search_never_sees_it(tmp_path: Path) -> None:
    files = {"value.txt": "1.0\n", "evaluate.py": HOLDOUT, "secret/truth.txt": "42\n"}
    repo = repository(tmp_path / "target", files)
    campaign = run_patches(repo, {"overfit": "2.0\n"}, holdout={"files": ["secret/**"]})
    assert campaign.best().score == 1.0
    [decision] = decisions(campaign)
    assert not decision.promoted
    assert "holdout" in decision.reason
    with campaign.reader() as reader:
        assert all(e.verdict == "judged" for e in reader.evaluations())
        assert [e.counted for e in reader.evaluations() if e.split == "holdout"] == [False, False]


def test_a_change_of_a_protected_file_is_rejected_before_it_runs(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": READ_VALUE})
    campaign = run_patches(repo, {"cheat": "print(100)\n"}, path="evaluate.py")
    with campaign.reader() as reader:
        [proposal] = reader.proposals()
        assert (proposal.outcome, len(list(reader.evaluations()))) == ("rejected", 1)
    assert proposal.reason is not None
    assert "evaluate.py" in proposal.reason


def test_a_change_outside_evolve_block_marks_is_rejected_before_it_runs(tmp_path: Path) -> None:
    marked = "# EVOLVE-BLOCK-START\n1.0\n# EVOLVE-BLOCK-END\n0.0\n"
    judge = 'print(sum(float(line) for line in open("value.txt") if "#" not in line))\n'
    repo = repository(tmp_path / "target", {"value.txt": marked, "evaluate.py": judge})
    campaign = run_patches(
        repo, {"inside": marked.replace("1.0", "2.0"), "outside": marked.replace("0.0", "9.0")}
    )
    with campaign.reader() as reader:
        assert [proposal.outcome for proposal in reader.proposals()] == ["candidate", "rejected"]
        reason = [proposal.reason for proposal in reader.proposals()][1]
    assert reason is not None
    assert "EVOLVE-BLOCK" in reason


def test_a_base_that_cannot_be_judged_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": "import no_such_module\n"})
    (repo / "evolve.toml").write_text(
        '[artifact]\ninclude = ["value.txt"]\n[evaluator]\ncommand = "python evaluate.py"\n'
    )
    ran = evolve(repo, "run")
    assert ran.returncode == 1
    assert "no_such_module" in ran.stderr
    assert "Traceback" not in ran.stderr
    checked = evolve(repo, "check")
    assert checked.returncode == 1
    assert "missing import" in checked.stdout


SLOW = "import time\ntime.sleep(0.4)\n" + READ_VALUE


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    files = {"value.txt": "1.0\n", "evaluate.py": SLOW, "evolve.toml": TOML.format(evaluations=200)}
    return repository(tmp_path / "slow target", files)


def started(repo: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "evolve", "run"],
        cwd=repo,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    await_evaluations(repo, 2)
    return process


def status(repo: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(evolve(repo, "status", "--json").stdout)
    return answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_drains_and_the_run_goes_on_later(slow: Path, number: signal.Signals) -> None:
    before = fingerprint(slow)
    process = started(slow)
    assert status(slow)["state"] == "running"
    process.send_signal(number)
    assert process.wait(30) == 0
    after = status(slow)
    assert (after["state"], after["in_flight"]) == ("stopped", 0)
    assert not alive(str(slow))
    assert fingerprint(slow) == before
    (slow / "evolve.toml").write_text(TOML.format(evaluations=after["evaluations"] + 2))
    assert evolve(slow, "run").returncode == 0
    assert status(slow)["evaluations"] == after["evaluations"] + 2


def test_a_second_signal_stops_at_once(slow: Path) -> None:
    process = started(slow)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) in (0, 130)  # 0 if everything in flight happened to end in between
    deadline = time.monotonic() + 5
    while alive(str(slow)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(str(slow))


def test_a_second_run_is_told_who_owns_the_campaign(slow: Path) -> None:
    process = started(slow)
    ran = evolve(slow, "run")
    assert ran.returncode == 3
    assert str(process.pid) in ran.stderr
    process.send_signal(signal.SIGTERM)
    process.wait(30)


def test_a_finished_run_ends_well_when_run_again_and_repeats_nothing(tmp_path: Path) -> None:
    files = {"value.txt": "1.0\n", "evaluate.py": READ_VALUE, "evolve.toml": TOML.format(evaluations=4)}
    repo = repository(tmp_path / "target", files)
    assert evolve(repo, "run").returncode == 0
    first = evolve(repo, "evaluations", "--json").stdout
    assert evolve(repo, "run").returncode == 0
    assert evolve(repo, "resume").returncode == 0
    assert evolve(repo, "evaluations", "--json").stdout == first


def test_what_results_mean_cannot_change_under_a_campaign(tmp_path: Path) -> None:
    files = {"value.txt": "1.0\n", "evaluate.py": READ_VALUE, "evolve.toml": TOML.format(evaluations=3)}
    repo = repository(tmp_path / "target", files)
    assert evolve(repo, "run").returncode == 0
    (repo / "evolve.toml").write_text(TOML.format(evaluations=5).replace("evaluate.py", "evaluate.py --fast"))
    ran = evolve(repo, "run")
    assert ran.returncode == 2
    assert "evaluator" in ran.stderr
    assert "campaign.name" in ran.stderr


def test_export_writes_one_branch_and_nothing_else(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": READ_VALUE})
    run_patches(repo, {"better": "2.0\n"})
    assert evolve(repo, "export", "--branch", "better").returncode == 0
    listed = git(repo, "for-each-ref", "--format=%(refname)").split()
    assert listed == ["refs/heads/better", "refs/heads/main"]
    assert git(repo, "show", "better:value.txt") == "2.0\n"
    assert git(repo, "merge-base", "better", "main") == git(repo, "rev-parse", "main")
    again = evolve(repo, "export", "base", "--branch", "better")
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert evolve(repo, "export", "--patch", "out.patch").returncode == 0
    git(repo, "apply", "--check", "out.patch")


def test_a_folder_of_a_larger_repository_is_a_target_too(tmp_path: Path) -> None:
    files = {
        "tools/pack/value.txt": "1.0\n",
        "tools/pack/evaluate.py": READ_VALUE,
        "tools/pack/evolve.toml": TOML.format(evaluations=6),
        "value.txt": "77\n",
    }
    repo = repository(tmp_path / "target", files)
    assert evolve(repo / "tools/pack", "run").returncode == 0
    best = json.loads(evolve(repo / "tools/pack", "best", "--json").stdout)
    assert best["score"] > 1.0
    assert best["changed"] == ["tools/pack/value.txt"]


def test_the_store_shows_the_ancestry_to_plain_git(tmp_path: Path) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": READ_VALUE})
    campaign = run_patches(repo, {"one": "2.0\n", "two": "1.5\n"})
    store = campaign.home / "store.git"
    log = git(store, "log", "--graph", "--format=%H %s", "--all")
    assert campaign.best().commit in log
    assert git(repo, "rev-parse", "HEAD").strip() in log
    body = git(store, "show", "-s", "--format=%B", campaign.best().commit)
    assert f"Evolve-Candidate: {campaign.best().candidate}" in body
    assert "Evolve-Operator: patches" in body


SETUP = """import json, os
from pathlib import Path
assert Path("build/table.txt").read_text() == "7"
assert Path("untracked/big.txt").read_text() == "data"
print(float(open("value.txt").read()))
"""


def test_what_the_set_up_made_and_untracked_data_are_there_for_every_candidate(tmp_path: Path) -> None:
    files = {"value.txt": "1.0\n", "evaluate.py": SETUP, ".gitignore": "untracked/\nbuild/\n"}
    repo = repository(tmp_path / "target", files)
    (repo / "untracked").mkdir()
    (repo / "untracked/big.txt").write_text("data")
    made = tmp_path / "made"
    command = f"mkdir build && printf 7 > build/table.txt && echo once >> {made}"
    evaluator = {"command": "python evaluate.py", "setup": command, "data": ["untracked"]}
    campaign = run_patches(repo, {"a": "2.0\n", "b": "3.0\n"}, evaluator=evaluator)
    assert campaign.best().score == 3.0
    assert campaign.run_sync().state == "finished"
    assert made.read_text() == "once\n"
    (repo / "untracked/big.txt").write_text("other")
    with pytest.raises(api.EvaluatorError, match="untracked has changed"):
        campaign.run_sync()


def test_several_workers_never_judge_a_tree_twice(tmp_path: Path) -> None:
    repo = repository(
        tmp_path / "target",
        {
            "shape.py": "A = 1.0\nB = 2\n",
            "evaluate.py": "import shape\nprint(-abs(shape.A - 0.3) - abs(shape.B - 5))\n",
        },
    )
    campaign = api.create(
        repo,
        config(
            artifact={"include": ["shape.py"]},
            workers={"propose": 3, "evaluate": 4},
            budget={"evaluations": 40},
        ),
    )
    assert campaign.run_sync().state == "finished"
    with campaign.reader() as reader:
        judged = [e.candidate for e in reader.evaluations()]
    assert len(judged) == len(set(judged)) == 40
    assert campaign.best().score > campaign.show("base").score
    assert campaign.home.is_dir()


def test_a_base_that_could_not_be_judged_is_taken_anew_once_it_is_corrected(tmp_path: Path) -> None:
    repo = repository(
        tmp_path / "repo",
        {"value.txt": "five\n", "evaluate.py": READ_VALUE, "evolve.toml": TOML.format(evaluations=1)},
    )
    first = evolve(repo, "run")
    assert first.returncode == 1
    (repo / "value.txt").write_text("5\n", encoding="utf-8")
    git(repo, "commit", "-qam", "a number")
    second = evolve(repo, "run")
    assert second.returncode == 0, second.stderr
    assert json.loads(evolve(repo, "status", "--json").stdout)["best_score"] == 5
