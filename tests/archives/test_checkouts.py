from __future__ import annotations

import errno
import mmap
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from git_samples import FILES, contents, git, make_repository, make_store, snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archives import folders
from archives.checkouts import Checkouts, Slot
from archives.errors import StoreError
from archives.store import Store


@pytest.fixture
def made(tmp_path: Path) -> tuple[Store, str, Slot]:
    store, base = make_store(tmp_path)
    slot = Checkouts(store, tmp_path / "checkouts").slot(0)
    slot.move_to(base)
    return store, base, slot


def test_a_checkout_holds_exactly_the_tree(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    assert slot.path.name == "slot-000"
    assert snapshot(slot.path) == contents(store, base)
    assert os.access(slot.path / "run.sh", os.X_OK)
    assert (slot.path / "latest").read_bytes() == b"7\n"


def test_a_slot_is_one_object(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path)
    checkouts = Checkouts(store, tmp_path / "checkouts")
    assert checkouts.slot(3) is checkouts.slot(3)
    assert checkouts.slot(3).path == tmp_path / "checkouts/slot-003"


def test_moving_back_and_forth_follows_the_trees(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    trees = [
        store.write_tree(base, {"value.txt": b"6\n"}),
        store.write_tree(base, {"value.txt": None, "value.txt/now/folder": b""}),
        store.write_tree(base, {"src/deep/tool.py": None, "src/deep": b"now a file"}),
        store.write_tree(base, dict.fromkeys(FILES)),
        store.write_tree(base, {entry.path: None for entry in store.files(base)}),
    ]
    for tree in [*trees, *reversed(trees), base]:
        slot.move_to(tree)
        assert snapshot(slot.path) == contents(store, tree)


def test_only_the_difference_is_written(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    before = {path: path.lstat().st_ino for path in slot.path.rglob("*")}
    root = slot.path.stat().st_ino
    slot.move_to(store.write_tree(base, {"value.txt": b"6\n"}))
    after = {path: path.lstat().st_ino for path in slot.path.rglob("*")}
    assert slot.path.stat().st_ino == root
    assert {path.name for path in before if before[path] != after[path]} <= {"value.txt"}


def same_size_and_time(root: Path) -> None:
    file = root / "value.txt"
    status = file.stat()
    file.write_bytes(b"9\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced_by_a_link(root: Path) -> None:
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(root.parent.parent / "outside")


def hard_linked(root: Path) -> None:
    for name in ("value.txt", "src/other.py"):
        (root / name).unlink()
        (root / name).hardlink_to(root.parent.parent / "outside/other.py")


def link_turned(root: Path) -> None:
    (root / "latest").unlink()
    (root / "latest").symlink_to("../../outside/other.py")


def file_becomes_link(root: Path) -> None:
    (root / "run.sh").unlink()
    (root / "run.sh").symlink_to(root.parent.parent / "outside/other.py")


def unreadable(root: Path) -> None:
    (root / "hidden/inner").mkdir(parents=True)
    (root / "hidden/inner/file").write_bytes(b"x")
    (root / "src/deep/tool.py").chmod(0)
    for folder in ("hidden/inner", "hidden", "src/deep", "src", "."):
        (root / folder).chmod(0)


def read_only(root: Path) -> None:
    (root / "cache").mkdir()
    (root / "cache/x").write_bytes(b"x")
    for path in ("cache/x", "cache", "src/deep", "value.txt"):
        (root / path).chmod(0o500)


def wide_open(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o777)


def ignored_files(root: Path) -> None:
    (root / ".gitignore").write_text("*\n")
    (root / "src/__pycache__").mkdir()
    (root / "src/__pycache__/tool.pyc").write_bytes(b"x")
    (root / "empty/folders/only").mkdir(parents=True)


def a_repository_inside(root: Path) -> None:
    git(root, "init", "-q")
    (root / ".git/info/exclude").write_text("*\n")
    (root / ".git/index.lock").touch()


def special_files(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "src/other.py").unlink()
    os.mkfifo(root / "src/other.py")
    here = Path.cwd()
    os.chdir(root)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
    finally:
        os.chdir(here)


def odd_names(root: Path) -> None:
    for name in (b"\xff\xfe", b"new\nline", b" ", b"-rf", b"\xc3\xbc", b"x" * 255):
        (root / os.fsdecode(name)).mkdir()


def endless_depth(root: Path) -> None:
    folder = os.open(root, os.O_RDONLY)
    for _ in range(500):
        os.mkdir("deeper", dir_fd=folder)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def swapped_kinds(root: Path) -> None:
    (root / "value.txt").unlink()
    (root / "value.txt").mkdir()
    shutil.rmtree(root / "src")
    (root / "src").write_bytes(b"x")


def all_gone(root: Path) -> None:
    shutil.rmtree(root)


def root_is_a_link(root: Path) -> None:
    shutil.rmtree(root)
    root.symlink_to(root.parent.parent / "outside")


def root_is_a_file(root: Path) -> None:
    shutil.rmtree(root)
    root.write_bytes(b"x")


def root_is_another_folder(root: Path) -> None:
    shutil.copytree(root, root.with_name("copy"), symlinks=True)
    shutil.rmtree(root)
    root.with_name("copy").rename(root)
    same_size_and_time(root)


HOSTILE: list[Callable[[Path], None]] = [
    same_size_and_time,
    replaced_by_a_link,
    hard_linked,
    link_turned,
    file_becomes_link,
    unreadable,
    read_only,
    wide_open,
    ignored_files,
    a_repository_inside,
    special_files,
    odd_names,
    swapped_kinds,
    all_gone,
    root_is_a_link,
    root_is_a_file,
    root_is_another_folder,
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.__name__)
@pytest.mark.parametrize("same_tree", [True, False], ids=["same_tree", "another_tree"])
@pytest.mark.parametrize("new_slot", [True, False], ids=["new_slot", "known_slot"])
def test_nothing_a_candidate_did_remains(
    made: tuple[Store, str, Slot],
    tmp_path: Path,
    hostile: Callable[[Path], None],
    same_tree: bool,
    new_slot: bool,
) -> None:
    store, base, slot = made
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.py").write_bytes(b"the user's own")
    before = snapshot(outside)
    hostile(slot.path)
    if new_slot:
        slot = Slot(store, slot.path)
    tree = base if same_tree else store.write_tree(base, {"src/other.py": b"new", "src/deep/tool.py": b"new"})
    slot.move_to(tree)
    assert snapshot(slot.path) == contents(store, tree)
    assert slot.path.stat().st_mode & 0o777 == 0o755
    assert snapshot(outside) == before
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_folders_nested_deeper_than_python_recurses_are_removed(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    endless_depth(slot.path)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)  # not 2,000 folders: what a killed test leaves must be easy to remove
    try:
        slot.move_to(base)
    finally:
        sys.setrecursionlimit(limit)
    assert snapshot(slot.path) == contents(store, base)


def test_a_change_in_the_same_moment_with_the_time_set_back_is_seen(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    for number in range(50):
        tree = store.write_tree(base, {"value.txt": b"%d\n" % (number % 10)})
        slot.move_to(tree)
        same_size_and_time(slot.path)
        slot.move_to(tree)
        assert snapshot(slot.path) == contents(store, tree)


def test_a_file_kept_open_does_not_reach_into_the_next_evaluation(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    with (slot.path / "value.txt").open("r+b") as held:
        held.write(b"9")
        held.flush()
        slot.move_to(base)
        held.seek(0)
        held.write(b"8")
        held.flush()
        assert snapshot(slot.path) == contents(store, base)


def test_a_file_that_nobody_else_has_is_written_into(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    number = (slot.path / "value.txt").stat().st_ino
    slot.move_to(store.write_tree(base, {"value.txt": b"9\n"}))
    assert (slot.path / "value.txt").stat().st_ino == number


def held_by_a_reader(path: Path) -> object:
    return path.open("rb")


def held_by_a_map(path: Path) -> object:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def held_by_a_link(path: Path) -> object:
    return (path.parent.parent / "elsewhere").hardlink_to(path)


def marked(path: Path) -> object:
    return os.setxattr(path, "user.note", b"1")


@pytest.mark.parametrize("hold", [held_by_a_reader, held_by_a_map, held_by_a_link, marked])
def test_a_file_that_somebody_else_has_is_replaced(
    made: tuple[Store, str, Slot], hold: Callable[[Path], object]
) -> None:
    store, base, slot = made
    number = (slot.path / "value.txt").stat().st_ino
    try:
        held = hold(slot.path / "value.txt")
    except OSError as error:
        pytest.skip(f"not on this file system: {error}")
    slot.move_to(store.write_tree(base, {"value.txt": b"9\n"}))
    assert (slot.path / "value.txt").read_bytes() == b"9\n"
    assert (slot.path / "value.txt").stat().st_ino != number or hold is marked
    assert not os.listxattr(slot.path / "value.txt")
    del held


ACTIONS = ["write", "delete", "mkdir", "link", "chmod", "rename", "move"]
PLACES = ["value.txt", "src", "src/deep", "src/deep/tool.py", "new", "new/inner", "latest", "run.sh"]


def act(root: Path, action: str, place: str, other: str, outside: Path) -> None:
    path = root / place
    if action == "write":
        path.write_bytes(b"5\n")
    elif action == "delete":
        path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)
    elif action == "mkdir":
        path.mkdir()
    elif action == "link":
        path.symlink_to(outside)
    elif action == "chmod":
        path.chmod(0o311)
    elif action == "rename":
        path.rename(root / other)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.sampled_from(PLACES), st.sampled_from(PLACES)),
        max_size=12,
    )
)
def test_whatever_happens_a_move_restores_the_tree(
    made: tuple[Store, str, Slot], tmp_path: Path, steps: list[tuple[str, str, str]]
) -> None:
    store, base, slot = made
    outside = tmp_path / "outside"
    outside.mkdir(exist_ok=True)
    trees = [base, store.write_tree(base, {"value.txt": b"6\n", "new/inner": b"1", "src/deep/tool.py": None})]
    for number, (action, place, other) in enumerate([*steps, ("move", "", "")]):
        if action == "move":
            tree = trees[number % 2]
            slot.move_to(tree)
            assert snapshot(slot.path) == contents(store, tree)
        else:
            try:
                act(slot.path, action, place, other, outside / "target")
            except OSError:
                continue
            if (outside / "target").exists():  # the candidate itself wrote through its link
                (outside / "target").unlink()
    assert snapshot(outside) == {}


def test_hidden_files_are_absent_and_come_back(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made

    def hidden(path: str) -> bool:
        return path.startswith("data/") or path == "src/other.py"

    slot.move_to(base, hidden)
    assert not (slot.path / "data").exists()
    assert not (slot.path / "src/other.py").exists()
    assert (slot.path / "src/deep/tool.py").exists()
    slot.move_to(base, lambda path: path == "value.txt")
    assert {path for path in contents(store, base) if not (slot.path / path).is_symlink()} - set(
        snapshot(slot.path)
    ) == {"value.txt"}
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_an_unchanged_folder_is_not_asked_about_again(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    asked: list[str] = []

    def hidden(path: str) -> bool:
        asked.append(path)
        return False

    slot.move_to(base, hidden)
    assert set(asked) == {entry.path for entry in store.files(base)}
    asked.clear()
    slot.move_to(store.write_tree(base, {"src/deep/tool.py": b"X = 2\n"}), hidden)
    assert "data/2024.txt" not in asked
    assert "src/deep/tool.py" in asked


def test_permissions_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    slot = Slot(store, tmp_path / "slot")
    old = os.umask(0o077)
    try:
        slot.move_to(base)
    finally:
        os.umask(old)
    assert snapshot(slot.path) == contents(store, base)


def test_bytes_are_those_of_the_store_whatever_the_attributes_say(tmp_path: Path) -> None:
    attributes = b"* text=auto eol=crlf ident working-tree-encoding=UTF-16\nvalue.txt filter=shout\n"
    files = {"value.txt": b"5\n$Id$\n", "mixed.txt": b"a\r\nb\n"}
    store, base = make_store(tmp_path, files)
    tree = store.write_tree(base, {".gitattributes": attributes})
    slot = Slot(store, tmp_path / "slot")
    slot.move_to(tree)
    assert snapshot(slot.path) == contents(store, tree)


def test_names_of_any_bytes_are_written(tmp_path: Path) -> None:
    store, base = make_store(tmp_path)
    tree = store.write_tree(
        base, {os.fsdecode(b"\xff/\xe9 ."): b"1", "größe berechnen.py": b"2", "a\nb": b"3"}
    )
    slot = Slot(store, tmp_path / "mon dépôt (copie)/slot")
    for _ in range(2):
        slot.move_to(tree)
        assert snapshot(slot.path) == contents(store, tree)


def test_a_submodule_is_an_empty_folder(tmp_path: Path) -> None:
    user = make_repository(tmp_path / "user")
    git(user, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib/module")
    git(user, "commit", "-q", "-m", "module")
    base = git(user, "rev-parse", "HEAD")
    store = Store.create(tmp_path / "store.git", user / ".git", base)
    slot = Slot(store, tmp_path / "slot")
    slot.move_to(base)
    assert snapshot(slot.path / "lib") == {"module": ("folder 755", b"")}
    (slot.path / "lib/module/left").write_bytes(b"x")
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_after_a_full_disk_a_slot_starts_anew(
    made: tuple[Store, str, Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, base, slot = made
    tree = store.write_tree(base, {f"new/{i}": b"%d" % i for i in range(10)})
    write_file, left = folders.write_file, [5]

    def full(name: bytes, within: int, data: bytes, executable: bool) -> os.stat_result:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_file(name, within, data, executable)

    with monkeypatch.context() as patched:
        patched.setattr(folders, "write_file", full)
        with pytest.raises(StoreError, match="No space left"):
            slot.move_to(tree)
    slot.move_to(tree)
    assert snapshot(slot.path) == contents(store, tree)


def test_an_impossible_link_is_a_plain_error(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    blob = git(store.path, "hash-object", "-w", "--stdin", stdin=b"a\0b")
    tree = git(store.path, "mktree", stdin=f"120000 blob {blob}\tlink\n".encode())
    with pytest.raises(StoreError, match="link"):
        slot.move_to(tree)
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_an_unknown_tree_leaves_the_checkout_usable(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    with pytest.raises(StoreError):
        slot.move_to("1" * 40)
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_discarding_removes_everything_and_the_slot_can_be_used_again(made: tuple[Store, str, Slot]) -> None:
    store, base, slot = made
    unreadable(slot.path)
    slot.discard()
    assert not slot.path.exists()
    slot.discard()
    slot.move_to(base)
    assert snapshot(slot.path) == contents(store, base)


def test_discarding_a_link_leaves_its_target(made: tuple[Store, str, Slot], tmp_path: Path) -> None:
    _, _, slot = made
    (tmp_path / "outside").mkdir()
    root_is_a_link(slot.path)
    slot.discard()
    assert (tmp_path / "outside").is_dir()
    assert not os.path.lexists(slot.path)


def test_something_mounted_in_a_checkout_is_not_emptied(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    store, base = make_store(tmp_path)
    slot = Slot(store, tmp_path / "my slot")
    slot.move_to(base)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_bytes(b"x")
    code = (
        "import sys; from pathlib import Path\n"
        "from archives.store import Store; from archives.checkouts import Slot\n"
        "Slot(Store(Path(sys.argv[1])), Path(sys.argv[2])).move_to(sys.argv[3])"
    )
    script = 'mount --bind "$1" "$2/src" && exec "$3" -c "$4" "$5" "$2" "$6"'
    names = [str(tmp_path / "precious"), str(slot.path), sys.executable, code, str(store.path), base]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *names], capture_output=True, text=True, check=False
    )
    assert "something is mounted in this checkout" in done.stderr
    assert (tmp_path / "precious/file").read_bytes() == b"x"
