"""Evaluators written for OpenEvolve, ShinkaEvolve and GEPA, unmodified and without those packages."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from foreign_cases import SYSTEMS, differences, folders, judge

EVERY = [(system, folder) for system in SYSTEMS for folder in folders(system)]


@pytest.mark.parametrize(("system", "folder"), EVERY, ids=[f"{s}-{f.name}" for s, f in EVERY])
def test_a_foreign_evaluator_says_what_its_own_system_says(system: str, folder: Path) -> None:
    assert differences(system, folder, judge(system, folder)) == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_difference_names_the_fault_it_avoids(system: str) -> None:
    differing = [tomllib.loads((folder / "case.toml").read_text()).get("ours") for folder in folders(system)]
    assert all(ours["fault"] for ours in differing if ours)
