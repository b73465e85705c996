"""Ready-made changes: their order, their parents, and what becomes of those that cannot be applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from operator_store import Repo, git

from archives.errors import ConfigError
from archives.records import Basis, Proposal
from evolve.operators.base import Draft, Exhausted, Refused, Waiting
from evolve.operators.patches import Patches


def diff(old: str, new: str, path: str = "value.txt") -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


class Case:
    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder, {"value.txt": "1\n", "größe (neu).txt": "1\n"})
        self.folder = self.repo.root / "proposals"
        self.folder.mkdir()
        self.patches = Patches(self.repo.root, "proposals", ())

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())

    def propose(self, number: int) -> Draft:
        return self.patches.propose(self.repo.order(number), self.repo.source)

    def observe(self, number: int, draft: Draft, merit: float | None = 1.0) -> None:
        candidate = self.repo.candidate({})
        assert draft.tree is not None
        candidate = type(candidate)(draft.tree, draft.tree, number, (), number, "patches", "")
        self.patches.observe(self.repo.proposal(number, draft, "patches"), candidate, merit)

    def refuse(self, number: int) -> str:
        with pytest.raises(Refused) as refused:
            self.propose(number)
        payload = refused.value.payload
        failed = Proposal(
            number, "patches", self.repo.base.id, Basis(0, 0), outcome="failed", payload=payload
        )
        self.patches.observe(failed, None, None)
        return str(refused.value)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_patches_come_in_the_order_of_their_names_and_then_it_is_exhausted(case):
    case.write("002-second.patch", diff("1", "3"))
    case.write("001-first.patch", diff("1", "2"))
    first, second = case.propose(1), case.propose(2)
    assert (first.summary, second.summary) == ("patch first", "patch second")
    assert case.repo.read(first, "value.txt") == "2\n"
    assert case.repo.read(second, "value.txt") == "3\n"
    with pytest.raises(Exhausted):
        case.propose(3)


def test_a_patch_builds_on_the_candidate_of_an_earlier_one(case):
    case.write("001-c1.patch", diff("1", "2"))
    case.write("002-c2.patch", "Parent: c1\n" + diff("2", "5"))
    first = case.propose(1)
    case.observe(1, first)
    second = case.propose(2)
    assert second.parent == first.tree
    assert case.repo.read(second, "value.txt") == "5\n"


@pytest.mark.parametrize("name", ["001-c1", "001-c1.patch", "c1"])
def test_the_full_name_of_a_parent_works_as_well(case, name):
    case.write("001-c1.patch", diff("1", "2"))
    case.write("002-c2.patch", f"Parent: {name}\r\n" + diff("2", "5"))
    case.observe(1, case.propose(1))
    assert case.repo.read(case.propose(2), "value.txt") == "5\n"


def test_the_base_can_be_named(case):
    case.write("001-c1.patch", "Parent: base\n" + diff("1", "2"))
    assert case.propose(1).parent == case.repo.base.id


def test_a_patch_waits_for_a_parent_in_flight(case):
    case.write("001-c1.patch", diff("1", "2"))
    case.write("002-c2.patch", "Parent: c1\n" + diff("2", "5"))
    first = case.propose(1)
    with pytest.raises(Waiting, match="c1"):
        case.propose(2)
    case.observe(1, first)
    assert case.propose(2).summary == "patch c2"


def test_a_patch_that_does_not_apply_is_refused_and_used_up(case):
    case.write("001-c1.patch", diff("7", "2"))
    case.write("002-c2.patch", diff("1", "2"))
    assert "patch c1 does not apply" in case.refuse(1)
    assert case.propose(2).summary == "patch c2"


def test_a_patch_whose_parent_failed_is_refused_and_used_up(case):
    case.write("001-c1.patch", diff("7", "2"))
    case.write("002-c2.patch", "Parent: c1\n" + diff("2", "5"))
    case.write("003-c3.patch", "Parent: c2\n" + diff("2", "5"))
    case.refuse(1)
    assert case.refuse(2) == "patch c2: its parent c1 failed"
    assert case.refuse(3) == "patch c3: its parent c2 failed"
    with pytest.raises(Exhausted):
        case.propose(4)


def test_a_parent_that_was_not_judged_counts_as_failed(case):
    case.write("001-c1.patch", diff("1", "2"))
    case.write("002-c2.patch", "Parent: c1\n" + diff("2", "5"))
    case.observe(1, case.propose(1), merit=None)
    assert "failed" in case.refuse(2)


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "no patch in the folder"), ("c3", "comes later"), ("c1", "comes later")]
)
def test_a_parent_that_cannot_come_is_refused_instead_of_waited_for(case, name, why):
    case.write("001-c1.patch", f"Parent: {name}\n" + diff("1", "2"))
    case.write("003-c3.patch", diff("1", "2"))
    assert why in case.refuse(1)


def test_asking_again_with_the_same_number_gives_the_same_patch(case):
    case.write("001-c1.patch", diff("1", "2"))
    case.write("002-c2.patch", diff("1", "3"))
    assert case.propose(1) == case.propose(1)
    assert case.propose(2).summary == "patch c2"


def test_a_resumed_campaign_goes_on_where_the_journal_ends(case):
    for n in (1, 2, 3):
        case.write(
            f"00{n}-c{n}.patch", ("Parent: c1\n" if n == 3 else "") + diff("2" if n == 3 else "1", str(n + 1))
        )
    first = case.propose(1)
    case.observe(1, first)
    second = case.propose(2)
    resumed = Patches(case.repo.root, "proposals", ())
    candidate = case.repo.candidate({"value.txt": "2\n"})
    resumed.observe(case.repo.proposal(1, first, "patches"), candidate, 1.0)
    assert resumed.propose(case.repo.order(2), case.repo.source) == second
    assert resumed.propose(case.repo.order(3), case.repo.source).parent == first.tree


def test_other_operators_results_are_ignored(case):
    case.write("001-c1.patch", diff("1", "2"))
    other = Proposal(1, "tune", case.repo.base.id, Basis(0, 0), payload={"patch": "001-c1"})
    case.patches.observe(other, None, None)
    assert case.propose(2).summary == "patch c1"


def test_true_names_of_files_work(case):
    git(case.repo.root, "config", "core.quotepath", "true")
    (case.repo.root / "größe (neu).txt").write_text("9\n")
    case.write("001-c1.patch", git(case.repo.root, "diff", "--", "größe (neu).txt"))
    assert case.repo.read(case.propose(1), "größe (neu).txt") == "9\n"


def test_branches_are_proposals_too(tmp_path):
    repo = Repo(tmp_path, {"value.txt": "1\n", "data.bin": "\x00\x01"})
    for name, value in (("try/b", "3"), ("try/a", "2"), ("other", "4")):
        git(repo.root, "checkout", "-q", "-b", name, "main")
        repo.commit({"value.txt": f"{value}\n", "data.bin": f"\x00{value}"})
    git(repo.root, "branch", "try/same", "main")
    patches = Patches(repo.root, None, ["try/*"])
    drafts = [patches.propose(repo.order(n), repo.source) for n in (1, 2, 3)]
    assert [draft.summary for draft in drafts] == ["branch try/a", "branch try/b", "branch try/same"]
    assert [repo.read(draft, "value.txt") for draft in drafts] == ["2\n", "3\n", "1\n"]
    assert repo.read(drafts[0], "data.bin") == "\x002"
    assert drafts[2].tree == repo.base.id
    with pytest.raises(Exhausted):
        patches.propose(repo.order(4), repo.source)


def test_a_missing_folder_is_a_configuration_error(tmp_path):
    repo = Repo(tmp_path, {"value.txt": "1\n"})
    with pytest.raises(ConfigError, match="nowhere"):
        Patches(repo.root, "nowhere", ()).propose(repo.order(), repo.source)
