from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from git_samples import commit, git, make_repository, make_store, snapshot

from archives import diagnosis
from archives.errors import RepositoryError
from archives.repository import Repository
from archives.store import Store


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "mon dépôt (copie)")


def set_traps(user: Path, ran: Path) -> None:
    """Configures the repository so that every program git could start leaves a file in `ran`."""
    ran.mkdir()
    for hook in (
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "update",
        "pre-auto-gc",
    ):
        path = user / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch '{ran}/{hook}'\n")
        path.chmod(0o755)
    git(user, "config", "core.fsmonitor", str(user / ".git/hooks/update"))
    for step in ("clean", "smudge"):
        git(user, "config", f"filter.sh=out loud.{step}", f"sh -c 'touch \"{ran}/{step}\"; cat'")
        git(user, "config", f"filter.shout.{step}", f"sh -c 'touch \"{ran}/{step}\"; cat'")
    git(user, "config", "filter.shout.required", "true")
    for name in ran.iterdir():
        name.unlink()


def test_a_repository_is_found_from_any_of_its_folders(user: Path) -> None:
    for start in (user, user / "src/deep"):
        found = Repository.find(start)
        assert (found.root, found.git_dir, found.common_dir) == (user, user / ".git", user / ".git")


def test_a_linked_worktree_is_a_repository(user: Path, tmp_path: Path) -> None:
    git(user, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side tree"))
    found = Repository.find(tmp_path / "side tree/src")
    assert found.root == tmp_path / "side tree"
    assert found.common_dir == user / ".git"
    assert found.git_dir.parent == user / ".git/worktrees"
    assert found.resolve("HEAD") == git(user, "rev-parse", "side")
    assert not found.is_dirty()


def test_the_callers_git_variables_do_not_mislead(
    user: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert Repository.find(user).root == user


def test_what_is_no_usable_repository_is_refused_plainly(user: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    git(tmp_path, "init", "-q", "--object-format=sha256", "modern")
    for place, message in (
        (tmp_path / "plain", "no Git repository"),
        (tmp_path / "bare.git", "bare"),
        (tmp_path / "modern", "SHA256"),
        (user / ".git/refs", "inside a Git directory"),
        (tmp_path / "missing", "no folder"),
    ):
        with pytest.raises(RepositoryError, match=message):
            Repository.find(place)


def test_a_repository_owned_by_somebody_else_can_be_used(user: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in (user, user / ".git"):
        os.chown(path, 65534, 65534)
    assert len(Repository.find(user).resolve("HEAD")) == 40


def test_revisions_of_all_kinds_become_commits(user: Path) -> None:
    found, head = Repository.find(user), git(user, "rev-parse", "HEAD")
    git(user, "tag", "-a", "-m", "tagged", "v1")
    for revision in ("HEAD", "main", "v1", "@", head, head[:10]):
        assert found.resolve(revision) == head
    assert found.resolve("HEAD~1") == git(user, "rev-parse", "HEAD~1")


@pytest.mark.parametrize(
    "revision", ["nothing", "", "--all", "HEAD:value.txt", "HEAD..main", "a\0b", "1" * 40]
)
def test_what_names_no_commit_is_refused(user: Path, revision: str) -> None:
    with pytest.raises(RepositoryError, match="names no commit"):
        Repository.find(user).resolve(revision)


def test_a_repository_without_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "new")
    found = Repository.find(tmp_path / "new")
    assert not found.is_dirty()
    with pytest.raises(RepositoryError, match="no commit yet"):
        found.resolve("HEAD")


def test_changed_staged_and_untracked_files(user: Path) -> None:
    found = Repository.find(user)
    assert not found.is_dirty()
    (user / "notes.txt").write_bytes(b"draft")
    assert not found.is_dirty()
    git(user, "add", "notes.txt")
    assert found.is_dirty()
    git(user, "rm", "-q", "--cached", "notes.txt")
    (user / "value.txt").write_bytes(b"99\n")
    assert found.is_dirty()


def test_the_dirty_check_runs_nothing_and_leaves_the_index_alone(user: Path, tmp_path: Path) -> None:
    commit(user, {".gitattributes": b'value.txt filter=shout\nrun.sh filter="sh=out loud"\n'})
    set_traps(user, tmp_path / "ran")
    for name in ("value.txt", "run.sh"):
        os.utime(user / name, ns=(1, 1))
    before = snapshot(user)
    times = {path: path.lstat().st_mtime_ns for path in (user / ".git").rglob("*")}
    assert not Repository.find(user).is_dirty()
    (user / "value.txt").write_bytes(b"99\n")
    assert Repository.find(user).is_dirty()
    Repository.find(user).diagnose("HEAD")
    (user / "value.txt").write_bytes(b"5\n")
    assert list((tmp_path / "ran").iterdir()) == []
    assert snapshot(user) == before
    assert times == {path: path.lstat().st_mtime_ns for path in (user / ".git").rglob("*")}


@pytest.fixture
def campaign(tmp_path: Path) -> tuple[Path, Store, str, str]:
    store, base = make_store(tmp_path)
    first = store.commit(store.write_tree(base, {"src/größe.py": b"A = 1\n"}), [base], "first", 1)
    second = store.commit(store.write_tree(first, {"value.txt": b"6\n"}), [first], "second", 2)
    return tmp_path / "user", store, base, second


def state(user: Path) -> dict[str, tuple[str, bytes]]:
    """All of a repository that an export must leave as it is."""
    own = (".git/objects", ".git/refs/heads/", ".git/logs/refs/heads/")
    return {path: value for path, value in snapshot(user).items() if not path.startswith(own)}


def test_an_export_writes_one_branch_and_nothing_else(
    campaign: tuple[Path, Store, str, str], tmp_path: Path
) -> None:
    user, store, base, made = campaign
    git(user, "branch", "other")
    git(user, "update-ref", "FETCH_HEAD", "HEAD")
    (user / "value.txt").write_bytes(b"99\n")
    set_traps(user, tmp_path / "ran")
    before, branches = state(user), git(user, "-c", "core.hooksPath=/dev/null", "for-each-ref")
    Repository.find(user).export_branch(store, made, "evolve/bester")
    assert list((tmp_path / "ran").iterdir()) == []
    assert state(user) == before
    shutil.rmtree(store.path)
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    refs = git(user, *quiet, "for-each-ref").splitlines()
    assert [ref for ref in refs if not ref.endswith("refs/heads/evolve/bester")] == branches.splitlines()
    assert git(user, *quiet, "log", "--format=%s", "evolve/bester").split() == [
        "second",
        "first",
        "second",
        "first",
    ]
    assert git(user, *quiet, "rev-parse", "evolve/bester~2") == base
    assert git(user, *quiet, "fsck", "--full") == ""
    assert git(user, *quiet, "show", "evolve/bester:src/größe.py") == "A = 1"


def test_an_existing_branch_needs_force(campaign: tuple[Path, Store, str, str]) -> None:
    user, store, base, made = campaign
    git(user, "branch", "best")
    found = Repository.find(user)
    with pytest.raises(RepositoryError, match=r"exists.*--force"):
        found.export_branch(store, made, "best")
    assert git(user, "rev-parse", "best") == base
    found.export_branch(store, made, "best", force=True)
    assert git(user, "rev-parse", "best") == made
    found.export_branch(store, made, "best")


def test_a_packed_branch_is_seen(campaign: tuple[Path, Store, str, str]) -> None:
    user, store, _, made = campaign
    git(user, "branch", "best")
    git(user, "pack-refs", "--all")
    with pytest.raises(RepositoryError, match="exists"):
        Repository.find(user).export_branch(store, made, "best")


@pytest.mark.parametrize("force", [True, False])
def test_a_branch_in_use_is_never_written(
    campaign: tuple[Path, Store, str, str], tmp_path: Path, force: bool
) -> None:
    user, store, _, made = campaign
    git(user, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(user, "branch", "rebased")
    (user / ".git/rebase-merge").mkdir()
    (user / ".git/rebase-merge/head-name").write_text("refs/heads/rebased\n")
    git(user, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    before = git(user, "for-each-ref")
    for start in (user, tmp_path / "side"):
        for branch in ("main", "side", "rebased", "alias"):
            with pytest.raises(RepositoryError, match=r"in use|alias"):
                Repository.find(start).export_branch(store, made, branch, force)
    assert git(user, "for-each-ref") == before


def test_the_branch_of_an_unborn_head_is_not_written(
    campaign: tuple[Path, Store, str, str],
) -> None:
    user, store, _, made = campaign
    git(user, "symbolic-ref", "HEAD", "refs/heads/unborn")
    with pytest.raises(RepositoryError, match="in use"):
        Repository.find(user).export_branch(store, made, "unborn")


@pytest.mark.parametrize(
    "branch",
    ["", "-f", "--all", "HEAD", "a..b", "a b", "a\nb", "x.lock", "/x", "x/", "a\0b", "@{-1}", "a~1", "*"],
)
def test_a_name_that_no_branch_can_have_is_refused(
    campaign: tuple[Path, Store, str, str], branch: str
) -> None:
    user, store, _, made = campaign
    before = snapshot(user)
    with pytest.raises(RepositoryError, match="not a name"):
        Repository.find(user).export_branch(store, made, branch)
    assert snapshot(user) == before


def test_a_branch_below_another_branch_is_a_plain_error(campaign: tuple[Path, Store, str, str]) -> None:
    user, store, _, made = campaign
    with pytest.raises(RepositoryError, match="cannot be written"):
        Repository.find(user).export_branch(store, made, "main/best")


def test_the_base_itself_can_be_exported(campaign: tuple[Path, Store, str, str]) -> None:
    user, store, base, _ = campaign
    Repository.find(user).export_branch(store, base, "start")
    assert git(user, "rev-parse", "start") == base


def test_an_export_without_the_base_is_refused(
    campaign: tuple[Path, Store, str, str], tmp_path: Path
) -> None:
    _, store, _, made = campaign
    other = make_repository(tmp_path / "other", {"x": b"x"})
    with pytest.raises(RepositoryError, match="no longer has commit"):
        Repository.find(other).export_branch(store, made, "best")
    assert git(other, "branch", "--format=%(refname:short)") == "main"


def test_an_export_from_a_linked_worktree_works(
    campaign: tuple[Path, Store, str, str], tmp_path: Path
) -> None:
    user, store, _, made = campaign
    git(user, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    Repository.find(tmp_path / "side").export_branch(store, made, "best")
    assert git(user, "rev-parse", "best") == made


def kinds(repository: Path) -> dict[str, str]:
    return {finding.kind: finding.text for finding in Repository.find(repository).diagnose("HEAD")}


def test_a_plain_repository_has_nothing_to_report(user: Path) -> None:
    assert kinds(user) == {}


def test_submodules_pointers_and_attributes_are_named(user: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345678\n"
    git(user, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib/möbel")
    (user / "lib/möbel").mkdir(parents=True)
    (user / "weights.bin").write_bytes(pointer)
    (user / "sub").mkdir()
    (user / "sub/.gitattributes").write_text("# filter=none\n*.bin filter=lfs -text\n*.txt eol=crlf\n")
    git(user, "add", "weights.bin", "sub")
    git(user, "commit", "-q", "-m", "more")
    found = kinds(user)
    assert "lib/möbel" in found["submodules"]
    assert "weights.bin" in found["lfs-pointers"]
    assert "eol=crlf" in found["attributes"]
    assert "none" not in found["attributes"]


def test_untracked_data_and_uncommitted_changes_are_named(user: Path) -> None:
    commit(user, {".gitignore": b"datasets/\n"})
    (user / "datasets").mkdir()
    (user / "datasets/big.npz").write_bytes(b"x")
    (user / "table.csv").write_bytes(b"x")
    (user / "notes.md").write_bytes(b"x")
    (user / "value.txt").write_bytes(b"99\n")
    found = kinds(user)
    assert "datasets/, table.csv" in found["untracked-data"]
    assert "notes.md" not in found["untracked-data"]
    assert "uncommitted" in found


def test_shallow_and_partial_clones_are_named_without_fetching(user: Path, tmp_path: Path) -> None:
    git(user, "config", "uploadpack.allowFilter", "true")
    source = f"file://{user}"
    git(tmp_path, "clone", "-q", "--depth=1", source, "shallow")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", "--origin=there", source, "partial")
    assert list(kinds(tmp_path / "shallow")) == ["shallow-clone"]
    packs = sorted((tmp_path / "partial/.git/objects/pack").iterdir())
    found = kinds(tmp_path / "partial")
    assert "git fetch --refetch --no-filter there" in found["partial-clone"]
    assert sorted((tmp_path / "partial/.git/objects/pack").iterdir()) == packs


def test_a_shallow_clone_can_be_the_source_of_a_campaign(user: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{user}", "shallow")
    found = Repository.find(tmp_path / "shallow")
    base = found.resolve("HEAD")
    store = Store.create(tmp_path / "store.git", found.common_dir, base)
    made = store.commit(store.write_tree(base, {"value.txt": b"6\n"}), [base], "six", 1)
    found.export_branch(store, made, "best")
    assert git(found.root, "rev-parse", "best~1") == base
    assert git(found.root, "fsck") == ""


def test_a_network_file_system_is_named(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagnosis.file_system(user) != ""
    monkeypatch.setattr(diagnosis, "file_system", lambda folder: "nfs4")
    assert "--home" in kinds(user)["network-file-system"]
