"""Real Git repositories for tests, made without any configuration of whoever runs them."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from archives.store import Store

PERSON = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "1700000000 +0000"))
}
FILES = {
    "value.txt": b"5\n",
    "src/deep/tool.py": b"X = 1\n",
    "src/other.py": b"Y = 2\n",
    "data/2024.txt": b"7\n",
}


def git(folder: Path, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
    """Runs plain git, as a user without configuration would."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= PERSON | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    command = ["git", "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(path: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A repository with two commits, an executable and a link."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    (path / "run.sh").write_bytes(b"#!/bin/sh\necho 1\n")
    (path / "run.sh").chmod(0o755)
    (path / "latest").symlink_to("data/2024.txt")
    commit(path, {}, "first")
    commit(path, files, "second")
    return path


def commit(path: Path, files: Mapping[str, bytes], message: str = "change") -> str:
    """Commits files and whatever else has changed."""
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)
    return git(path, "rev-parse", "HEAD")


def make_store(folder: Path, files: Mapping[str, bytes] = FILES) -> tuple[Store, str]:
    """A store and the hash of its base."""
    user = make_repository(folder / "user", files)
    base = git(user, "rev-parse", "HEAD")
    return Store.create(folder / "store.git", user / ".git", base), base


def snapshot(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Everything in a folder, empty folders included: kind and content by path."""
    found: dict[str, tuple[str, bytes]] = {}
    for parent, names, files in os.walk(folder):
        for path in (Path(parent, name) for name in names + files):
            key = os.fsencode(path.relative_to(folder)).decode("utf-8", "surrogateescape")
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[key] = ("link", os.fsencode(path.readlink()))
            elif stat.S_ISDIR(mode):
                found[key] = (f"folder {stat.S_IMODE(mode):o}", b"")
            elif stat.S_ISREG(mode):
                found[key] = (f"file {stat.S_IMODE(mode):o}", path.read_bytes())
            else:
                found[key] = ("other", b"")
    return found


def contents(store: Store, tree: str) -> dict[str, tuple[str, bytes]]:
    """What `snapshot` of a checkout of a tree must say."""
    kinds = {0o100644: "file 644", 0o100755: "file 755", 0o120000: "link"}
    found = {}
    for entry in store.files(tree):
        for depth, letter in enumerate(entry.path):
            if letter == "/":
                found[entry.path[:depth]] = ("folder 755", b"")
        if entry.mode == 0o160000:
            found[entry.path] = ("folder 755", b"")
        else:
            found[entry.path] = (kinds[entry.mode], store.blob(entry.oid))
    return found
