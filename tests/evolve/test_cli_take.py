from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from handmade import Handmade, answer, evolve, git, handmade

from evolve.ownership import own

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def made(tmp_path: Path) -> Handmade:
    made = handmade(tmp_path)
    made.add("c1", 3.0)
    made.crown("c1", "base")
    made.add("c2", 2.0, parent="c1")
    return made.write()


def refs(made: Handmade) -> str:
    return git(made.root, "for-each-ref")


def test_a_diff_can_be_applied(capsys: Capture, made: Handmade) -> None:
    ran = evolve(capsys, "-C", made.root, "diff")
    assert ran.code == 0
    assert [row for row in ran.out.splitlines() if row in ("-base", "+c1")] == ["-base", "+c1"]
    subprocess.run(["git", "-C", made.root, "apply"], input=ran.out, text=True, check=True)
    assert (made.root / "value.txt").read_text() == "c1\n"


def test_a_diff_between_two_candidates_names_what_changed(capsys: Capture, made: Handmade) -> None:
    found = answer(capsys, made, "diff", made.ids["c1"][:12], made.commits["c2"][:12])
    assert (found["old"], found["new"]) == (made.ids["c1"], made.ids["c2"])
    assert found["changed"] == ["value.txt"]
    assert "\n-c1\n+c2\n" in found["diff"]


def test_an_export_writes_that_branch_and_nothing_else(capsys: Capture, made: Handmade) -> None:
    before, files = refs(made), git(made.root, "status", "--porcelain")
    found = answer(capsys, made, "export", "--branch", "better")
    assert (found["candidate"], found["branch"], found["patch"]) == (made.ids["c1"], "better", None)
    new = set(refs(made).splitlines()) - set(before.splitlines())
    assert new == {f"{made.commits['c1']} commit\trefs/heads/better"}
    assert git(made.root, "show", "better:value.txt") == "c1\n"
    assert git(made.root, "status", "--porcelain") == files


def test_an_existing_branch_is_kept_without_force(capsys: Capture, made: Handmade) -> None:
    git(made.root, "branch", "mine")
    before = refs(made)
    ran = evolve(capsys, "-C", made.root, "export", "--branch", "mine")
    assert (ran.code, ran.err.count("\n"), refs(made)) == (1, 1, before)
    assert evolve(capsys, "-C", made.root, "export", "--branch", "mine", "--force").code == 0
    assert git(made.root, "rev-parse", "mine").strip() == made.commits["c1"]


def test_the_base_can_be_exported_as_a_branch(capsys: Capture, made: Handmade) -> None:
    ran = evolve(capsys, "-C", made.root, "export", "base", "--branch", "same")
    assert ran.code == 0
    assert "unchanged" in ran.out
    assert git(made.root, "rev-parse", "same").strip() == made.commits["base"]


def test_a_patch_is_written_once(capsys: Capture, made: Handmade, tmp_path: Path) -> None:
    target = tmp_path / "c2.patch"
    assert evolve(capsys, "-C", made.root, "export", made.ids["c2"], "--patch", target).code == 0
    git(made.root, "apply", str(target))
    assert (made.root / "value.txt").read_text() == "c2\n"
    target.write_text("mine")
    ran = evolve(capsys, "-C", made.root, "export", "--patch", target)
    assert (ran.code, target.read_text()) == (1, "mine")
    assert "--force" in ran.err
    assert evolve(capsys, "-C", made.root, "export", "--patch", target, "--force").code == 0
    assert "+c1" in target.read_text()


def test_a_patch_may_go_to_standard_output(capsys: Capture, made: Handmade) -> None:
    ran = evolve(capsys, "-C", made.root, "export", "--patch", "-")
    assert ran.out == evolve(capsys, "-C", made.root, "diff", "base", "best").out


def test_the_base_has_no_patch(capsys: Capture, made: Handmade, tmp_path: Path) -> None:
    ran = evolve(capsys, "-C", made.root, "export", "base", "--patch", tmp_path / "p")
    assert (ran.code, (tmp_path / "p").exists()) == (1, False)
    assert "no change" in ran.err


@pytest.mark.parametrize("where", [[], ["--branch", "b", "--patch", "p"]])
def test_an_export_needs_exactly_one_target(capsys: Capture, made: Handmade, where: list[str]) -> None:
    assert evolve(capsys, "-C", made.root, "export", *where).code == 2


def test_a_patch_into_a_folder_that_is_missing_is_one_line(capsys: Capture, made: Handmade) -> None:
    ran = evolve(capsys, "-C", made.root, "export", "--patch", made.root / "no" / "p")
    assert (ran.code, ran.err.count("\n")) == (1, 1)


def test_removing_asks_first(capsys: Capture, made: Handmade) -> None:
    ran = evolve(capsys, "-C", made.root, "remove")
    assert (ran.code, made.home.exists()) == (2, True)
    assert "--yes" in ran.err


def test_removing_deletes_the_campaign_and_keeps_exported_branches(capsys: Capture, made: Handmade) -> None:
    evolve(capsys, "-C", made.root, "export", "--branch", "better")
    found = answer(capsys, made, "remove", "--yes")
    assert (found["campaign"], made.home.exists()) == ("toy", False)
    assert git(made.root, "show", "better:value.txt") == "c1\n"


def test_a_running_campaign_is_not_removed(capsys: Capture, made: Handmade) -> None:
    with own(made.home / "lock"):
        ran = evolve(capsys, "-C", made.root, "remove", "--yes")
    assert (ran.code, made.home.exists()) == (3, True)
