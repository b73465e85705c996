"""What may surprise a user about a repository: what an evaluation will not find in its checkout, and why."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from archives.git import Git, text

Kind = Literal[
    "partial-clone",
    "lfs-pointers",
    "submodules",
    "network-file-system",
    "untracked-data",
    "attributes",
    "uncommitted",
    "shallow-clone",
]

_NETWORK = frozenset(
    (
        "9p",
        "afs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    )
)
_POINTER = b"version https://git-lfs.github.com/spec/v1"
_DATA = re.compile(
    r"(^|/)(data|datasets?|models?|weights|checkpoints?|fixtures|assets|corpus|instances|\.env)/?$"
    r"|\.(csv|tsv|jsonl?|parquet|feather|npy|npz|pkl|pickle|h5|hdf5|db|sqlite3?|xml|zip|tar|gz|xz|zst|bin"
    r"|pth?|safetensors|onnx|gguf|so)$",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(
    rb"(?<=\s)(?:(?:filter|working-tree-encoding)=\S+|eol=crlf|ident|export-ignore|export-subst)(?=\s|$)"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the repository that the user should know of, in one line."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    oid: str
    mode: str


def diagnose(git: Git, common_dir: Path, commit: str, dirty: bool) -> list[Finding]:
    """What may surprise about a commit and its repository, most serious first."""
    absent = _absent(git, commit)
    tree = list(_tree(git, commit))
    files = [file for file in tree if file.mode.startswith("100") and file.oid not in absent]
    findings = [
        *_partial(absent, common_dir),
        *_pointers(git, files),
        *_submodules(tree),
        *_network(common_dir),
        *_untracked(git),
        *_attributes(git, files),
    ]
    if dirty:
        note = "there are uncommitted changes; a campaign starts from the commit and does not see them"
        findings.append(Finding("uncommitted", note))
    if git.lines("rev-parse", "--is-shallow-repository") == ["true"]:
        note = "this is a shallow clone; that is no hindrance, since no history is needed"
        findings.append(Finding("shallow-clone", note))
    return findings


def _absent(git: Git, commit: str) -> frozenset[str]:
    lines = git.lines("rev-list", "--objects", "--no-walk", "--missing=print", commit)
    return frozenset(line[1:] for line in lines if line.startswith("?"))


def _tree(git: Git, commit: str) -> Iterator[_File]:
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if line:
            facts, _, path = text(line).partition("\t")
            mode, _, oid = facts.split(" ")
            yield _File(path, oid, mode)


def _partial(absent: Collection[str], common_dir: Path) -> Iterator[Finding]:
    if absent:
        fetch = " ".join(("git fetch --refetch --no-filter", *_promisors(common_dir)))
        note = f"{len(absent)} objects of the commit are not here, as in a partial clone; get them: {fetch}"
        yield Finding("partial-clone", note)


def _promisors(common_dir: Path) -> list[str]:
    """The remote that promised to hand over what is missing."""
    from git import Repo

    with Repo(common_dir, expand_vars=False) as repository:
        config = repository.config_reader("repository")
        promising = [
            remote
            for remote in repository.remotes
            if config.get_value(f'remote "{remote.name}"', "promisor", "")
        ]
        return [remote.name for remote in promising[:1]]


def _pointers(git: Git, files: Sequence[_File]) -> Iterator[Finding]:
    small = [file for file, size in zip(files, _sizes(git, files), strict=True) if 100 <= size <= 400]
    pointers = [file.path for file, data in _contents(git, small) if data.startswith(_POINTER)]
    if pointers:
        note = f"{_named(pointers)} in Git LFS: an evaluation sees the pointer, not the content; "
        yield Finding("lfs-pointers", note + "hand the files over with [evaluator] data")


def _submodules(tree: Sequence[_File]) -> Iterator[Finding]:
    modules = [file.path for file in tree if file.mode == "160000"]
    if modules:
        note = f"{_named(modules)} as submodule: an empty folder in an evaluation; "
        yield Finding("submodules", note + "hand it over with [evaluator] data")


def _network(folder: Path) -> Iterator[Finding]:
    kind = file_system(folder)
    if kind in _NETWORK:
        note = f"{folder} is on a network file system ({kind}), on which databases break; "
        yield Finding("network-file-system", note + "keep the campaign elsewhere with --home")


def file_system(folder: Path) -> str:
    """Type of the file system a folder is on, as the kernel calls it; empty if unknown."""
    try:
        table = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
    path, best, kind = f"{folder.resolve()}/", -1, ""
    for line in table.splitlines():
        front, _, back = line.partition(" - ")
        place = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), front.split(" ")[4])
        if path.startswith(place.rstrip("/") + "/") and len(place) >= best:
            best, kind = len(place), back.split(" ")[0]
    return kind


def _untracked(git: Git) -> Iterator[Finding]:
    options = ("ls-files", "-z", "--others", "--directory", "--no-empty-directory")
    found = [text(path) for path in git.run(*options).split(b"\0") if path]
    data = sorted(path for path in found if _DATA.search(path))
    if data:
        note = f"{_named(data)} not in Git and so in no evaluation; "
        yield Finding("untracked-data", note + "if the evaluator needs it, name it in [evaluator] data")


def _attributes(git: Git, files: Sequence[_File]) -> Iterator[Finding]:
    carriers = [file for file in files if file.path.rpartition("/")[2] == ".gitattributes"]
    words: set[str] = set()
    for _, data in _contents(git, carriers):
        lines = [line for line in data.splitlines() if not line.lstrip().startswith(b"#")]
        words.update(text(match[0]) for line in lines for match in _ATTRIBUTES.finditer(line))
    if words - {"filter=lfs"}:
        note = (
            f".gitattributes asks for {', '.join(sorted(words)[:4])}; an evaluation sees the bytes as stored"
        )
        yield Finding("attributes", note)


def _sizes(git: Git, files: Sequence[_File]) -> list[int]:
    return [int(size) for size in git.lines("cat-file", "--batch-check=%(objectsize)", stdin=_names(files))]


def _contents(git: Git, files: Sequence[_File]) -> Iterator[tuple[_File, bytes]]:
    output, position = git.run("cat-file", "--batch=%(objectsize)", stdin=_names(files)), 0
    for file in files:
        end = output.index(b"\n", position)
        size = int(output[position:end])
        yield file, output[end + 1 : end + 1 + size]
        position = end + size + 2


def _names(files: Sequence[_File]) -> bytes:
    return "".join(f"{file.oid}\n" for file in files).encode()


def _named(paths: Sequence[str]) -> str:
    """A few of the paths, and how many more, with the verb that fits."""
    shown = ", ".join(path.encode("utf-8", "replace").decode() for path in paths[:3])
    if len(paths) > 3:
        shown += f" and {len(paths) - 3} more"
    return f"{shown} {'is' if len(paths) == 1 else 'are'}"
