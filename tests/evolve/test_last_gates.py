"""When the search is over, the best contender is heard even if gates have had their share."""

from __future__ import annotations

from pathlib import Path

from targets import config, patches, repository

import evolve as api

NOISY = (
    "import json, os, random\n"
    "seed = json.load(open(os.environ['EVOLVE_REQUEST']))['seed']\n"
    "value = float(open('value.txt').read())\n"
    "print(value + random.Random(f'{seed} {value}').gauss(0, 0.05))\n"
)


def test_a_far_better_last_candidate_becomes_champion_and_a_further_run_changes_nothing(
    tmp_path: Path,
) -> None:
    repo = repository(tmp_path / "target", {"value.txt": "1.0\n", "evaluate.py": NOISY})
    folder = patches(repo, "value.txt", {"little": "1.01\n", "great": "5.0\n"})
    campaign = api.create(
        repo,
        config(
            operators={"patches": {"folder": str(folder)}},
            promotion={"rule": "evalue", "pairs": 30},
            budget={"proposals": 10},
        ),
    )
    assert campaign.run_sync().state == "finished"
    assert campaign.best().changed == ["value.txt"]
    assert campaign.best().score > 4
    with campaign.reader() as reader:
        before = reader.counts()
    campaign.run_sync()
    with campaign.reader() as reader:
        assert reader.counts().evaluations == before.evaluations
