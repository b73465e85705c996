"""Git's tree objects as plain dictionaries, with paths as the bytes they are.

pygit2 offers tree builders, but they know only names that are UTF-8, and iterating over its trees makes
an object per entry. A tree object is a flat run of ``mode name NUL oid``; reading it with one regular
expression is as fast, leaves odd modes of old repositories as they are, and takes any name.
"""

from __future__ import annotations

import re

from archives.errors import StoreError

Entry = tuple[bytes, bytes]
"""Mode as git writes it, and the 20 bytes of the object's name."""
Listing = dict[bytes, Entry]
"""One folder: name to entry, in the order of git."""

FOLDER_MODES = frozenset((b"40000", b"040000"))
FILE_MODE, LINK_MODE, MODULE_MODE = b"100644", b"120000", b"160000"
MAXIMUM_DEPTH = 200

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_INVISIBLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def parse(data: bytes) -> Listing:
    """Reads a tree object."""
    return {name: (mode, oid) for mode, name, oid in _ENTRY.findall(data)}


def serialise(listing: Listing) -> bytes:
    """Writes a tree object; folders sort as if their names ended in a slash."""
    ordered = sorted(
        listing.items(), key=lambda item: item[0] + b"/" if item[1][0] in FOLDER_MODES else item[0]
    )
    return b"".join(b"%s %s\0%s" % (mode, name, oid) for name, (mode, oid) in ordered)


def file_mode(mode: bytes) -> int:
    """The mode as one of the four that git knows today."""
    number = int(mode, 8)
    if mode in (LINK_MODE, MODULE_MODE):
        return number
    return 0o100755 if number & 0o100 else 0o100644


def encode(path: str) -> bytes:
    """The bytes of a path."""
    return path.encode("utf-8", "surrogateescape")


def decode(path: bytes) -> str:
    """A path as text; bytes that are not UTF-8 become lone surrogates, as Python does with file names."""
    return path.decode("utf-8", "surrogateescape")


def split(path: str) -> tuple[bytes, ...]:
    """The parts of a path that may be written.

    Raises:
        StoreError: The path would lead out of the tree, into Git's own files, or cannot exist on disk.
    """
    try:
        raw = encode(path)
    except UnicodeEncodeError:
        raise StoreError(f"{path!r} is not a path that can be written: it is no valid text") from None
    parts = tuple(raw.split(b"/"))
    if len(raw) > 4000 or len(parts) > MAXIMUM_DEPTH or any(len(part) > 255 for part in parts):
        raise StoreError(f"{path[:80]!r}… is not a path that can be written: it is too long or too deep")
    if any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise StoreError(f"{path!r} is not a path that can be written: name files relative to the repository")
    if any(_is_git(part) for part in parts):
        raise StoreError(f"{path!r} is not a path that can be written: .git belongs to Git")
    return parts


def _is_git(part: bytes) -> bool:
    """Whether some file system takes this name for ``.git``, as git itself checks."""
    name = _INVISIBLE.sub("", part.decode("utf-8", "replace")).split(":", 1)[0]
    return name.casefold().rstrip(". ") in (".git", "git~1")
