"""Opening the campaign's database, and saying in one line what SQLite has against it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal
from urllib.parse import quote_from_bytes

from archives.errors import JournalError

Mode = Literal["ro", "rw", "rwc"]

_OLDEST_SQLITE = (3, 37, 0)
_ADVICE = {
    "SQLITE_FULL": "free some space on its disk, then go on with `evolve resume`",
    "SQLITE_IOERR": "look after its disk, then go on with `evolve resume`",
    "SQLITE_BUSY": "another program holds it locked; close that and try again",
    "SQLITE_LOCKED": "another program holds it locked; close that and try again",
    "SQLITE_READONLY": "make the file and its folder writable",
    "SQLITE_CANTOPEN": "see that file and folder exist and may be read and written",
    "SQLITE_PERM": "see that file and folder may be read and written",
    "SQLITE_NOTADB": "it is no SQLite database; name a campaign's campaign.db",
    "SQLITE_CORRUPT": "it is damaged; put back a copy, or save what can be read with `sqlite3 FILE .recover`",
}


def require(path: Path) -> None:
    """Raise JournalError unless there is a file at `path`."""
    if not path.is_file():
        raise JournalError(f"there is no campaign's database at {path}; start a campaign with `evolve run`")


def connect(path: Path, mode: Mode, timeout: float, immutable: bool = False) -> sqlite3.Connection:
    """Open a connection in autocommit mode that may be handed from one thread to another.

    Raises:
        JournalError: The file cannot be opened, or this Python's SQLite is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        found, needed = sqlite3.sqlite_version, ".".join(map(str, _OLDEST_SQLITE))
        raise JournalError(f"this Python comes with SQLite {found}; use one with SQLite {needed} or newer")
    address = f"file:{quote_from_bytes(bytes(path.absolute()))}?mode={mode}{'&immutable=1' * immutable}"
    try:
        return sqlite3.connect(
            address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise refusal(path, error) from error


def code_of(error: BaseException) -> str:
    """Primary name of SQLite's result code, such as "SQLITE_FULL"; empty if the error has none."""
    name: str = getattr(error, "sqlite_errorname", "")
    return "_".join(name.split("_")[:2])


def refusal(path: Path, error: BaseException, doing: str = "used") -> JournalError:
    """The error to show for one that SQLite raised: which file, what it said, what to do."""
    said = str(error) or type(error).__name__
    advice = _ADVICE.get(code_of(error))
    return JournalError(f"{path} cannot be {doing}: {said}" + (f"; {advice}" if advice else ""))
