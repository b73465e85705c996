from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from git_samples import FILES, commit, git, make_repository, make_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archives import founding
from archives.errors import RepositoryError, StoreError
from archives.store import FileEntry, Store


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, str]:
    return make_store(tmp_path_factory.mktemp("shared"))


def test_the_base_keeps_its_hash_and_needs_the_users_repository_no_more(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    shutil.rmtree(tmp_path / "user")
    tree = store.tree_of(base)
    assert store.tree_of(tree) == tree
    assert store.read(base, "value.txt") == b"5\n"
    assert store.time_of(base) == 1_700_000_000
    assert git(store.path, "log", "--format=%H", base) == base
    assert store.check() == []


def test_a_root_commit_can_be_the_base(tmp_path: Path) -> None:
    user = make_repository(tmp_path / "user")
    base = git(user, "rev-list", "--max-parents=0", "HEAD")
    store = Store.create(tmp_path / "store.git", user / ".git", base)
    assert store.check() == []
    assert not (store.path / "shallow").exists()


def test_files_are_sorted_with_modes_as_git_has_them(shared: tuple[Store, str]) -> None:
    store, base = shared
    found = {entry.path: oct(entry.mode) for entry in store.files(base)}
    assert list(found) == sorted([*FILES, "latest", "run.sh"])
    assert (found["run.sh"], found["latest"], found["value.txt"]) == ("0o100755", "0o120000", "0o100644")


def test_only_files_can_be_read(shared: tuple[Store, str]) -> None:
    store, base = shared
    assert store.read(base, "src/other.py") == b"Y = 2\n"
    for path in ("latest", "src", "nothing", "value.txt/x", "../value.txt", "", "/value.txt"):
        assert store.read(base, path) is None


def test_creating_again_opens_what_is_there(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    tree = store.write_tree(base, {"value.txt": b"6\n"})
    again = Store.create(store.path, tmp_path / "user/.git", base)
    assert again.read(tree, "value.txt") == b"6\n"


def test_another_base_in_the_same_place_is_refused(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path)
    other = commit(tmp_path / "user", {"value.txt": b"9\n"})
    with pytest.raises(StoreError, match="not"):
        Store.create(store.path, tmp_path / "user/.git", other)


def test_creation_can_be_killed_at_any_time_and_repeated(tmp_path: Path) -> None:
    user = make_repository(tmp_path / "user", FILES | {f"more/{i}.txt": b"%d" % i for i in range(200)})
    base = git(user, "rev-parse", "HEAD")
    path = tmp_path / "store.git"
    code = "import sys; from pathlib import Path; from archives.store import Store; print(flush=True)\n"
    code += "Store.create(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])"
    for pause in (0.0, 0.004, 0.008, 0.012, 0.02, 0.03):
        command = [sys.executable, "-c", code, str(path), str(user / ".git"), base]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert Store.create(path, user / ".git", base).check() == []
        shutil.rmtree(path)
        (tmp_path / ".store.git.unfinished/objects").mkdir(parents=True)
    Store.create(path, user / ".git", base)
    assert [entry.name for entry in tmp_path.iterdir() if "unfinished" in entry.name] == []


def test_an_unsupported_hash_is_refused_plainly(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "user")
    base = commit(tmp_path / "user", {"a": b"a"})
    with pytest.raises(RepositoryError, match="SHA-256"):
        Store.create(tmp_path / "store.git", tmp_path / "user/.git", base)
    with pytest.raises(RepositoryError, match="SHA-256"):
        Store.create(tmp_path / "store.git", tmp_path / "user/.git", base[:40])


def test_a_partial_clone_is_not_filled_up_over_the_network_but_named(tmp_path: Path) -> None:
    user = make_repository(tmp_path / "user")
    git(user, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{user}", "clone")
    base = git(user, "rev-parse", "HEAD")
    with pytest.raises(RepositoryError, match="partial clone"):
        Store.create(tmp_path / "store.git", tmp_path / "clone/.git", base)
    assert not (tmp_path / "store.git").exists()


def test_nothing_of_the_callers_environment_or_configuration_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_repository(tmp_path / "user")
    base = git(user, "rev-parse", "HEAD")
    trap, ran = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    trap.chmod(0o755)
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "update"):
        shutil.copy(trap, user / ".git/hooks" / hook)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(
        f"[core]\nhooksPath={user}/.git/hooks\nfsmonitor={trap}\n[diff]\nexternal={trap}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    store = Store.create(tmp_path / "store.git", user / ".git", base)
    tree = store.write_tree(base, {"value.txt": b"6\n"})
    made = store.commit(tree, [base], "six", 0)
    assert store.apply_patch(base, store.patch(base, tree)) == tree
    assert store.move_champion(made, None)
    store.pack()
    assert store.check() == []
    assert not ran.exists()
    assert not (tmp_path / "index").exists()


def test_opening_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no campaign store"):
        Store(tmp_path / "store.git")
    (tmp_path / "store.git").mkdir()
    (tmp_path / "store.git/HEAD").write_text("x")
    with pytest.raises(StoreError, match=r"store\.git"):
        Store(tmp_path / "store.git")


def test_a_written_file_keeps_its_mode_and_a_new_one_is_plain(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(base, {"run.sh": b"#!/bin/sh\n", "neu/größe ü.txt": b"", "value.txt": None})
    modes = {entry.path: entry.mode for entry in store.files(tree)}
    assert modes["run.sh"] == 0o100755
    assert modes["neu/größe ü.txt"] == 0o100644
    assert "value.txt" not in modes


def test_empty_folders_vanish_and_an_empty_tree_is_possible(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(base, {"src/deep/tool.py": None, "src/other.py": None, "not/there": None})
    assert not [entry for entry in store.files(tree) if entry.path.startswith("src")]
    empty = store.write_tree(base, {entry.path: None for entry in store.files(base)})
    assert empty == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    assert store.write_tree(empty, {"a/b": b"1"}) == store.write_tree(empty, {"a/b": b"1"})


def test_the_same_bytes_give_the_same_tree(shared: tuple[Store, str]) -> None:
    store, base = shared
    assert store.write_tree(base, {"value.txt": b"5\n", "gone": None}) == store.tree_of(base)


def test_a_file_may_make_way_for_a_folder_and_back(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(base, {"value.txt": None, "value.txt/inner": b"1"})
    assert store.read(tree, "value.txt/inner") == b"1"
    assert store.write_tree(tree, {"value.txt/inner": None, "value.txt": b"5\n"}) == store.tree_of(base)


UNSAFE = [
    "../x", "/etc/passwd", "a//b", "a/", "./a", "a/./b", "a/../b", "..", ".", "",
    ".git/config", "a/.git/hooks/x", ".GIT/config", ".git./x", ".git /x", "git~1/x", ".g\u200cit/x",
    ".git::$DATA/x", "a\0b", "x" * 256, "/".join("a" * 201), "\ud800",
    "latest", "latest/x", "value.txt/x", "src", "src/deep",
]  # fmt: skip


@pytest.mark.parametrize("path", UNSAFE)
def test_an_unsafe_path_is_refused(shared: tuple[Store, str], path: str) -> None:
    store, base = shared
    with pytest.raises(StoreError):
        store.write_tree(base, {path: b"x"})


def test_a_folder_cannot_be_deleted_by_its_name(shared: tuple[Store, str]) -> None:
    store, base = shared
    with pytest.raises(StoreError, match="folder"):
        store.write_tree(base, {"src": None})


def test_names_that_are_not_utf_8_survive(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    name = os.fsdecode(b"f\xff/\xe9.txt")
    tree = store.write_tree(base, {name: b"1"})
    assert store.read(tree, name) == b"1"
    assert name in [entry.path for entry in store.files(tree)]
    assert store.changed_paths(base, tree) == (name,)
    assert store.apply_patch(base, store.diff(base, tree).encode("utf-8", "surrogateescape")) == tree
    store.commit(tree, [base], "odd name", 0)
    assert store.check() == []


NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "a0", "ü", "run.sh"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=8)), max_size=4), max_size=5),
    st.data(),
)
def test_trees_are_what_a_dictionary_would_be(
    shared: tuple[Store, str], steps: list[dict[str, bytes | None]], data: st.DataObject
) -> None:
    store, base = shared
    tree = store.write_tree(base, {entry.path: None for entry in store.files(base)})
    model: dict[str, bytes] = {}
    for changes in steps:
        after = {path: value for path, value in (model | changes).items() if value is not None}
        try:
            new = store.write_tree(tree, changes)
        except StoreError:
            folders = {
                path[:i] for path in [*model, *after, *changes] for i, c in enumerate(path) if c == "/"
            }
            assert folders & {*model, *after, *changes}
            continue
        assert {entry.path: store.blob(entry.oid) for entry in store.files(new)} == after
        paths = {path for path in model.keys() | after.keys() if model.get(path) != after.get(path)}
        assert store.changed_paths(tree, new) == tuple(sorted(paths))
        tree, model = new, after
    listing = git(store.path, "ls-tree", "-r", "-z", "--name-only", tree).split("\0")
    assert sorted(filter(None, listing)) == sorted(model)
    top = git(store.path, "ls-tree", tree)
    assert git(store.path, "mktree", stdin=f"{top}\n".encode() if top else b"") == tree


def test_a_commit_is_the_same_again_and_as_git_makes_it(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(base, {"value.txt": b"6\n"})
    made = store.commit(tree, [base], "Größer\n\nwhy\n\nEvolve-Operator: x", 1_700_000_123)
    assert store.commit(tree, [base], "Größer\n\nwhy\n\nEvolve-Operator: x", 1_700_000_123) == made
    raw = git(store.path, "cat-file", "commit", made)
    assert raw == (
        f"tree {tree}\nparent {base}\nauthor Evolve <evolve@localhost> 1700000123 +0000\n"
        "committer Evolve <evolve@localhost> 1700000123 +0000\n\nGrößer\n\nwhy\n\nEvolve-Operator: x"
    )
    assert git(store.path, "rev-parse", f"refs/evolve/candidates/{made[:2]}/{made}") == made
    assert made in list(store.commits())


def test_a_namespace_keeps_its_commits_apart(shared: tuple[Store, str]) -> None:
    store, base = shared
    made = store.commit(store.tree_of(base), [base], "apart", 5, namespace="drafts")
    assert made not in list(store.commits())
    assert git(store.path, "rev-parse", f"refs/evolve/drafts/{made[:2]}/{made}") == made


def test_odd_messages_are_kept_as_far_as_git_can(shared: tuple[Store, str]) -> None:
    store, base = shared
    made = store.commit(store.tree_of(base), [base], "a\0b \ud800 -- ü\n\n\n", 7)
    assert git(store.path, "log", "-1", "--format=%s", made) == "ab ? -- ü"


def test_unknown_objects_are_named(shared: tuple[Store, str]) -> None:
    store, base = shared
    for use in (
        lambda: store.tree_of("0" * 40),
        lambda: store.tree_of("nonsense"),
        lambda: store.blob(base),
        lambda: store.files(store.files(base)[0].oid),
        lambda: store.commit("1" * 40, [base], "x", 0),
        lambda: store.diff(base, "1" * 40),
    ):
        with pytest.raises(StoreError):
            use()


def test_changes_of_both_sides_are_merged(shared: tuple[Store, str]) -> None:
    store, base = shared
    ours = store.write_tree(base, {"value.txt": b"6\n", "src/new.py": b""})
    theirs = store.write_tree(base, {"src/other.py": None, "run.sh": b"#!/bin/sh\nexit\n"})
    merge = store.merge_trees(base, ours, theirs)
    assert merge.conflicts == ()
    assert merge.tree == store.write_tree(ours, {"src/other.py": None, "run.sh": b"#!/bin/sh\nexit\n"})


def test_conflicts_are_named_and_give_no_tree(shared: tuple[Store, str]) -> None:
    store, base = shared
    ours = store.write_tree(base, {"value.txt": b"6\n", "src/other.py": b"Y = 3\n", "run.sh": b"1\n"})
    theirs = store.write_tree(base, {"value.txt": b"7\n", "src/other.py": None})
    merge = store.merge_trees(base, ours, theirs)
    assert merge.tree is None
    assert merge.conflicts == ("src/other.py", "value.txt")


def test_a_diff_is_readable_and_applies(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(
        base, {"mon dépôt/größe.py": b"FAKTOR = 8\n", "blob.bin": bytes(range(256)), "src/other.py": None}
    )
    diff = store.diff(base, tree)
    assert "größe.py" in diff
    assert "+FAKTOR = 8" in diff
    assert store.apply_patch(base, diff.encode()) == tree


def test_a_sketch_of_a_text_says_what_its_diff_says(shared: tuple[Store, str]) -> None:
    store, base = shared
    tree = store.write_tree(base, {"mon dépôt/größe.py": b"FAKTOR = 8\n", "src/other.py": None})

    def changes(diff: str) -> list[str]:
        return [line for line in diff.splitlines() if line[:1] in "+-@" and line[:3] not in ("+++", "---")]

    assert "größe.py" in store.sketch(base, tree)
    assert changes(store.sketch(base, tree)) == changes(store.diff(base, tree))
    assert store.sketch(base, base) == ""
    assert "\0" not in store.sketch(base, store.write_tree(base, {"blob.bin": bytes(range(256))}))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(sorted(FILES)), st.one_of(st.none(), st.binary(max_size=300)), max_size=3)
)
def test_every_diff_applies_to_what_it_was_made_from(
    shared: tuple[Store, str], changes: dict[str, bytes | None]
) -> None:
    store, base = shared
    tree = store.write_tree(base, changes)
    if tree != store.tree_of(base):
        assert store.apply_patch(base, store.patch(base, tree)) == tree


def new_file(path: str) -> bytes:
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n"
    return f"{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode()


PATCHES = {
    "leaves_the_tree": new_file("../x"),
    "is_absolute": new_file("/etc/x"),
    "writes_into_git": new_file(".git/x"),
    "does_not_fit": b"--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-8\n+9\n",
    "is_none": b"hello\n",
    "is_empty": b"",
}


@pytest.mark.parametrize("why", PATCHES)
def test_a_patch_is_refused_that(shared: tuple[Store, str], why: str) -> None:
    store, base = shared
    with pytest.raises(StoreError, match=r"patch does not apply: \w"):
        store.apply_patch(base, PATCHES[why])


def test_a_patch_cannot_write_through_a_link(shared: tuple[Store, str]) -> None:
    store, base = shared
    link = b"diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+/tmp\n"
    write = new_file("out/x")
    with pytest.raises(StoreError, match="patch does not apply"):
        store.apply_patch(base, link.replace(b"+/tmp\n", b"+/tmp\n\\ No newline at end of file\n") + write)


def test_the_champion_moves_only_from_where_it_was_believed(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    made = store.commit(store.tree_of(base), [base], "same", 1)
    assert store.champion() is None
    assert not store.move_champion(made, base)
    assert store.move_champion(base, None)
    assert not store.move_champion(made, None)
    assert store.move_champion(made, base)
    assert store.champion() == made
    assert git(store.path, "log", "--format=%H").split() == [made, base]


def test_the_champion_cannot_be_what_is_not_there(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    assert store.move_champion(base, None)
    with pytest.raises(StoreError, match="champion"):
        store.move_champion("1" * 40, base)
    assert store.champion() == base


def race(path: str, new: str, old: str) -> bool:
    return Store(Path(path)).move_champion(new, old)


def test_of_many_that_promote_at_once_exactly_one_wins(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    store.move_champion(base, None)
    made = [store.commit(store.tree_of(base), [base], f"{i}", i) for i in range(8)]
    champion = base
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        ThreadPoolExecutor(6) as threads,
    ):
        for _ in range(4):
            new = [commit for commit in made if commit != champion]
            futures = [
                (threads if i > 1 else processes).submit(race, str(store.path), commit, champion)
                for i, commit in enumerate(new)
            ]
            assert sum(future.result() for future in futures) == 1
            champion = str(store.champion())
            assert champion in new


def test_threads_write_and_pack_at_once_without_loss(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)

    def work(worker: int) -> list[str]:
        return [
            store.commit(store.write_tree(base, {f"w{worker}.txt": b"%d" % i}), [base], f"{worker} {i}", i)
            for i in range(40)
        ]

    with ThreadPoolExecutor(5) as pool:
        made = [pool.submit(work, worker) for worker in range(4)]
        packs = [pool.submit(store.pack) for _ in range(4)]
        commits = sorted(commit for future in made for commit in future.result())
        for pack in packs:
            pack.result()
    store.pack()
    assert sorted(store.commits()) == commits
    assert all(store.read(commit, "value.txt") == b"5\n" for commit in commits)
    assert store.check() == []
    assert not [path for path in (store.path / "refs/evolve").rglob("*") if path.is_file()]


def test_what_has_no_ref_survives_packing(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    tree = store.write_tree(base, {"value.txt": b"8\n"})
    store.pack()
    assert Store(store.path).read(tree, "value.txt") == b"8\n"


LEFTOVERS = [
    "packed-refs.lock", "packed-refs.new", "HEAD.lock", "config.lock", "shallow.lock", "gc.pid",
    "refs/heads/champion.lock", "objects/pack/tmp_pack_abcdef", "objects/pack/tmp_idx_abcdef",
    "objects/pack/.tmp-12-pack-ab.pack", "objects/12/tmp_obj_abcdef", "objects/12/tmp_object_git2_abcdef",
]  # fmt: skip


def test_what_a_killed_owner_left_is_removed(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    tree = store.write_tree(base, {"value.txt": b"6\n"})
    made = store.commit(tree, [base], "six", 1)
    again = store.path / f"refs/evolve/candidates/{made[:2]}/{made}"
    again.rename(again.with_name(f"{made}.12345.lock"))
    for name in LEFTOVERS:
        (store.path / name).parent.mkdir(exist_ok=True)
        (store.path / name).touch()
    half = f"refs/evolve/candidates/{made[:2]}/{made}.12345.lock"
    assert sorted(store.recover()) == sorted([*LEFTOVERS, half])
    assert store.recover() == []
    assert store.commit(tree, [base], "six", 1) == made
    assert store.move_champion(made, None)
    store.pack()
    assert store.check() == []


def test_recovery_waits_for_a_git_that_outlived_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = make_store(tmp_path)
    lock = store.path / "packed-refs.lock"
    lock.touch()
    with (store.path / "store-refs").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        orphan = subprocess.Popen(["sleep", "60"], pass_fds=[held.fileno()])
    try:
        monkeypatch.setattr(founding, "PATIENCE", 0.2)
        with pytest.raises(StoreError, match="still works"):
            store.recover()
        assert lock.exists()
    finally:
        orphan.kill()
        orphan.wait()
    assert store.recover() == ["packed-refs.lock"]


def test_a_broken_object_is_found(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    tree = store.write_tree(base, {"value.txt": b"6\n"})
    store.commit(tree, [base], "six", 1)
    broken = store.path / "objects" / tree[:2] / tree[2:]
    broken.chmod(0o644)
    broken.write_bytes(b"")
    assert any(tree[:8] in line for line in store.check())


def test_a_commit_without_its_ref_is_completed_when_repeated(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    made = store.commit(store.tree_of(base), [base], "same", 1)
    (store.path / f"refs/evolve/candidates/{made[:2]}/{made}").unlink()
    assert store.commit(store.tree_of(base), [base], "same", 1) == made
    assert list(store.commits()) == [made]


def test_submodules_of_the_base_are_kept_and_not_written(tmp_path: Path) -> None:
    user = make_repository(tmp_path / "user")
    git(user, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib/module")
    git(user, "commit", "-q", "-m", "module")
    base = git(user, "rev-parse", "HEAD")
    store = Store.create(tmp_path / "store.git", user / ".git", base)
    assert FileEntry("lib/module", "1" * 40, 0o160000) in store.files(base)
    with pytest.raises(StoreError, match="submodule"):
        store.write_tree(base, {"lib/module": b""})
    tree = store.write_tree(base, {"lib/more.py": b""})
    store.commit(tree, [base], "more", 1)
    assert store.check() == []


WRITER = """
import sys
from pathlib import Path
from archives.store import Store
store, base, start = Store(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
store.recover()
champion = store.champion()
for number in range(start, start + 10_000):
    tree = store.write_tree(base, {"value.txt": b"%d" % number})
    made = store.commit(tree, [base], f"number {number}", number)
    print(made, flush=True)
    if number % 5 == 0:
        assert store.move_champion(made, champion)
        champion = made
    if number % 20 == 0:
        store.pack()
"""


def test_a_writer_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    acknowledged: list[str] = []
    for turn in range(8):
        command = [sys.executable, "-c", WRITER, str(store.path), base, str(turn * 10_000 + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += [process.stdout.readline().strip() for _ in range(17 + turn)]
            time.sleep(turn * 0.003)
            process.kill()
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
        assert process.returncode == -signal.SIGKILL
    store.recover()
    assert set(acknowledged) <= set(store.commits())
    assert len(set(acknowledged)) == len(acknowledged) > 100
    assert store.champion() in acknowledged
    assert store.check() == []
