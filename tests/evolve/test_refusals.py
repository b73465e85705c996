"""What cannot work is refused in one line, before or at the start, not noticed after a night."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from caserun import git
from targets import READ_VALUE, config, evolve, patches, repository

import evolve as api

TOML = '[artifact]\ninclude = ["value.txt"]\n[evaluator]\ncommand = "python evaluate.py"\n[budget]\nevaluations = 8\n'


def target(tmp_path: Path, evaluator: str = READ_VALUE, toml: str = TOML) -> Path:
    return repository(
        tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": evaluator, "evolve.toml": toml}
    )


@pytest.mark.parametrize("name", ["ü x", "../z", "a/b", "..", "-x y", "x" * 61])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    repo = target(tmp_path)
    ran = evolve(repo, "run", f"--campaign={name}")
    assert ran.returncode == 2
    assert "--campaign" in ran.stderr
    assert not (repo / ".git" / "evolve").exists()


def test_a_damaged_campaign_hides_no_other_and_can_be_removed(tmp_path: Path) -> None:
    repo = target(tmp_path)
    assert evolve(repo, "run", "--campaign", "good").returncode == 0
    assert evolve(repo, "run", "--campaign", "bad").returncode == 0
    (repo / ".git/evolve/bad/campaign.db").write_bytes(b"not a database, but long enough to be one" * 99)
    listed = json.loads(evolve(repo, "list", "--json").stdout)["campaigns"]
    assert {one["campaign"]: one["state"] for one in listed} == {"good": "finished", "bad": None}
    assert evolve(repo, "status").returncode == 0
    said = evolve(repo, "status", "--campaign", "bad").stderr
    assert "evolve remove --campaign bad" in said
    assert evolve(repo, "remove", "--campaign", "bad", "--yes").returncode == 0
    assert not (repo / ".git/evolve/bad").exists()


def test_a_relative_home_is_taken_from_here(tmp_path: Path) -> None:
    repo = target(tmp_path)
    assert evolve(repo, "run", "--home", "campaigns").returncode == 0
    assert json.loads(evolve(repo, "best", "--home", "campaigns", "--json").stdout)["score"] >= 1.0
    assert not (repo / ".git" / "evolve").exists()
    assert evolve(repo, "status", EVOLVE_HOME="campaigns").returncode == 0


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"holdout": {"cases": ["x"]}}, ["holdout", "'x'"]),
        ({"promotion": {"rule": "strict", "no_worse": ["zzz"]}}, ["no_worse", "zzz"]),
        ({"archive": {"measures": [{"name": "depht"}]}}, ["archive.measures", "depht"]),
        ({"promotion": {"rule": "evalue", "range": [5.0, 9.0]}}, ["promotion.range", "outside"]),
    ],
)
def test_what_the_result_does_not_hold_is_said_when_the_base_is_judged(
    tmp_path: Path, tables: dict[str, object], words: list[str]
) -> None:
    campaign = api.create(target(tmp_path), config(**tables))
    with pytest.raises(api.EvaluatorError) as caught:
        campaign.run_sync()
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize(
    ("holdout", "words"),
    [({"files": ["nope/**"]}, "matches no file"), ({"files": ["evaluate.py"]}, "hides evaluate.py")],
)
def test_a_holdout_that_hides_nothing_or_the_judge_is_refused(
    tmp_path: Path, holdout: dict[str, object], words: str
) -> None:
    with pytest.raises(api.ConfigError, match=words):
        api.create(target(tmp_path), config(holdout=holdout))


def test_no_evaluation_begins_after_the_wall_budget_and_the_rest_waits_for_more(tmp_path: Path) -> None:
    slow = "import time\ntime.sleep(0.6)\n" + READ_VALUE
    toml = TOML.replace("evaluations = 8", 'wall = "2s"') + '[promotion]\nrule = "strict"\n'
    repo = target(tmp_path, slow, toml)
    first = evolve(repo, "run")
    assert first.returncode == 0, first.stderr
    status = json.loads(evolve(repo, "status", "--json").stdout)
    assert (status["state"], "wall" in status["reason"]) == ("finished", True)
    assert evolve(repo, "run").returncode == 0
    again = json.loads(evolve(repo, "status", "--json").stdout)
    assert again["evaluations"] == status["evaluations"], "a second run has no more time than the first left"
    (repo / "evolve.toml").write_text(toml.replace('"2s"', '"8s"'))
    assert evolve(repo, "run").returncode == 0
    assert json.loads(evolve(repo, "status", "--json").stdout)["evaluations"] > status["evaluations"]


NOISY = """import json, os, random
request = json.load(open(os.environ["EVOLVE_REQUEST"]))
value = float(open("value.txt").read())
print(random.Random(f"{request['seed']}/{value}").gauss(0, 1))
"""


def test_under_noise_gates_leave_half_of_the_evaluations_to_the_search(tmp_path: Path) -> None:
    repo = target(tmp_path, NOISY)
    folder = patches(repo, "value.txt", {f"c{n}": f"{n}\n" for n in range(2, 32)})
    campaign = api.create(
        repo, config(operators={"patches": {"folder": str(folder)}}, promotion={"pairs": 30})
    )
    assert campaign.run_sync().state == "finished"
    with campaign.reader() as reader:
        gates = sum(one.purpose == "gate" for one in reader.evaluations())
        total = reader.counts().counted
        decisions = list(reader.decisions())
        assert len(list(reader.proposals("done"))) == 30
    assert decisions
    assert gates <= total / 2 + 2 * 30
    assert len({one.challenger for one in decisions}) == len(decisions), "nobody is refused twice"


def test_champions_tells_why_others_were_refused(tmp_path: Path) -> None:
    judge = "import json, os\nr = json.load(open(os.environ['EVOLVE_REQUEST']))\n" + READ_VALUE.replace(
        "float(file.read())", "float(file.read()) * (1 if r['split'] == 'search' else -1)"
    )
    repo = target(tmp_path, judge)
    (repo / "secret.txt").write_text("x")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "holdout")
    folder = patches(repo, "value.txt", {"overfit": "2.0\n"})
    tables = {"operators": {"patches": {"folder": str(folder)}}, "holdout": {"files": ["secret.txt"]}}
    campaign = api.create(repo, config(**tables))
    campaign.run_sync()
    answer = json.loads(evolve(repo, "champions", "--json").stdout)
    assert (len(answer["champions"]), answer["challenges"]) == (1, 1)
    assert "holdout" in answer["refused"][0]["reason"]
    assert "not promoted" in evolve(repo, "champions").stdout


@pytest.mark.parametrize(
    ("prices", "words"),
    [("", "price of tiny is not known"), (", price_in = 0", "it limits nothing; give another limit")],
)
def test_dollars_that_would_limit_nothing_are_refused_before_the_base_is_judged(
    tmp_path: Path, prices: str, words: str
) -> None:
    pool = f'[models]\npool = [{{ model = "tiny", api_base = "http://127.0.0.1:9/v1"{prices} }}]\n'
    repo = target(tmp_path, toml=TOML.replace("evaluations = 8", "usd = 2") + pool)
    for command in ("check", "run"):
        ran = evolve(repo, command)
        assert ran.returncode == 2 and words in ran.stderr, ran
        assert (ran.stderr.count("\n"), ran.stdout) == (1, "")


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_home_that_cannot_be_is_refused_with_the_way_out(tmp_path: Path, command: str) -> None:
    ran = evolve(target(tmp_path), command, "--home", "/proc/nowhere")
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "/proc/nowhere" in ran.stderr and "EVOLVE_HOME" in ran.stderr


def test_a_check_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    assert evolve(target(tmp_path), "check", "--home", str(tmp_path / "a/b")).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_folder_of_patches_that_is_gone_is_named_when_a_campaign_goes_on(tmp_path: Path) -> None:
    repo = target(tmp_path)
    (tmp_path / "target-patches").mkdir()
    (repo / "evolve.toml").write_text(TOML + '[operators.patches]\nfolder = "../target-patches"\n', "utf-8")
    assert evolve(repo, "run").returncode == 0
    (tmp_path / "target-patches").rmdir()
    for command in ("run", "resume"):
        ran = evolve(repo, command)
        assert ran.returncode == 2 and ran.stderr.startswith("evolve: operators.patches.folder: "), ran
