"""Which files of a repository judge: those the evaluator's command names, and what these name or import.

A campaign judges with the evaluator of its base, whatever happens in the working tree. A person who edits
the evaluator meanwhile means something by it, though, and has to be asked: is that the judge from now on,
or a slip? So it must be known which files are the evaluator's. Whole repositories are protected, and an
edited README is nobody's judge. What is looked for is what a reader would look for: words that are paths of
protected files or of folders of them, and imports that lead to protected modules. Files that may change are
what is judged, and are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from posixpath import dirname, normpath

MOST = 2000
"""Files that are looked into; beyond them nothing is followed."""
_LARGEST = 512 * 1024
_NOT_READ = (".md", ".rst", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".svg", ".lock")
_WORD = re.compile(r"[\w.\-/+@]+")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+\(?([\w., \t*]+)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)

Read = Callable[[str], bytes | None]


def judging_files(
    words: Iterable[str], known: Collection[str], read: Read, prefix: str, editable: Callable[[str], bool]
) -> tuple[str, ...]:
    """Protected files that the verdicts depend on, sorted.

    Args:
        words: What of its command may be a path.
        known: Paths of the repository.
        read: The bytes of a file by its path; None where there is none.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        editable: Whether a candidate may change a path.
    """
    found: dict[str, None] = {}
    waiting = [path for word in words for path in _meant(word, prefix, known, read, bare=True)]
    while waiting and len(found) < MOST:
        path = waiting.pop()
        content = None if path in found or editable(path) else read(path)
        if content is None:
            continue
        found[path] = None
        if len(content) <= _LARGEST and b"\0" not in content:
            waiting += _leads(path, content.decode("utf-8", "replace"), known, read, prefix)
    return tuple(sorted(found))


def _leads(path: str, text: str, known: Collection[str], read: Read, prefix: str) -> Iterator[str]:
    if path.endswith(_NOT_READ):
        return
    places = dict.fromkeys((prefix, _folder(path)))
    for word in dict.fromkeys(_WORD.findall(text)):
        if "." in word or "/" in word:
            for place in places:
                yield from _meant(word, place, known, read)
    if path.endswith(".py"):
        for stem in _imported(path, text):
            yield from (
                place + name
                for place in dict.fromkeys((*places, ""))
                for name in (f"{stem}.py", f"{stem}/__init__.py")
                if place + name in known or read(place + name) is not None
            )


def _meant(word: str, place: str, known: Collection[str], read: Read, bare: bool = False) -> Iterator[str]:
    """The files that a word can mean, seen from a folder."""
    path = normpath(place + word) if word else ""
    if not word or path.startswith(("..", "/")) or path == ".":
        return
    if path in known or (word.endswith((".py", ".json", ".toml", ".csv", ".txt")) and read(path) is not None):
        yield path
    elif bare or "/" in word:
        yield from (one for one in known if one.startswith(path + "/"))


def _imported(path: str, text: str) -> Iterator[str]:
    """Modules that a file imports, as paths without their ending, relative to where Python may look."""
    for source, names, plain in _IMPORT.findall(text):
        for name in plain.split(","):
            yield from _steps(name.split(" as ")[0].strip())
        dots = len(source) - len(source.lstrip("."))
        module = source.lstrip(".").replace(".", "/")
        if dots:
            module = normpath("/".join([*[".."] * (dots - 1), module or "."]))
        for name in names.split(","):
            yield normpath(f"{module}/{name.split(' as ')[0].strip()}")
        yield from _steps(module.replace("/", "."))


def _steps(dotted: str) -> Iterator[str]:
    """A package has the files of the packages above it run too."""
    parts = [part for part in dotted.split(".") if part]
    yield from ("/".join(parts[: n + 1]) for n in range(len(parts)))


def _folder(path: str) -> str:
    folder = dirname(path)
    return folder + "/" if folder else ""
