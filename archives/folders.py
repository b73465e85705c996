"""File system operations that hostile content cannot lead astray.

Whatever ran in a folder may have left anything there: links to elsewhere, folders without permissions,
chains of folders thousands deep, names that are not text. Everything here works on descriptors and
single names, follows no link, does not recurse, and holds two descriptors however deep it gets.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import stat
import uuid
from functools import lru_cache
from pathlib import Path

from archives.errors import StoreError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SAME_FILE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OLD_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_folder(name: bytes | str, within: int | None = None) -> int:
    """Opens a folder, never a link to one, and makes it usable where its permissions forbid it."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=within)
    except PermissionError:
        _permit(name, within)
        folder = os.open(name, _FOLDER, dir_fd=within)
    try:
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        if mode & 0o700 != 0o700:
            os.fchmod(folder, mode | 0o700)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _permit(name: bytes | str, within: int | None) -> None:
    # O_PATH needs no permission on the folder itself and pins it, so that chmod cannot be sent elsewhere.
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(0o700)
    finally:
        os.close(handle)


def remove(name: bytes | str, within: int, is_folder: bool) -> None:
    """Removes whatever lies at a name."""
    if is_folder:
        _remove_folder(name, within)
    else:
        os.unlink(name, dir_fd=within)


def _remove_folder(name: bytes | str, within: int) -> None:
    # Subfolders are moved up beside the first one: depth turns into a list.
    pending = [name]
    while pending:
        current = pending.pop()
        folder = open_folder(current, within)
        try:
            with os.scandir(folder) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            for entry_name, is_folder in found:
                if not is_folder:
                    os.unlink(entry_name, dir_fd=folder)
                elif moved := _lift(entry_name, folder, within):
                    pending.append(moved)
        finally:
            os.close(folder)
        os.rmdir(current, dir_fd=within)


def _lift(name: str, source: int, target: int) -> str | None:
    """Removes a folder if it is empty, else moves it and returns its new name."""
    try:
        os.rmdir(name, dir_fd=source)
        return None
    except OSError:
        os.close(open_folder(name, source))  # a folder can only be moved by who may write in it
    moved = f".evolve-{uuid.uuid4().hex}"
    os.rename(name, moved, src_dir_fd=source, dst_dir_fd=target)
    return moved


def write_file(name: bytes, within: int, data: bytes, executable: bool) -> os.stat_result:
    """Makes a new file with the same permissions under every umask; fails if anything is at its name."""
    handle = os.open(name, _NEW_FILE, 0o600, dir_fd=within)
    try:
        return _written(handle, data, executable)
    finally:
        os.close(handle)


def renew_file(name: bytes, within: int, data: bytes, executable: bool) -> os.stat_result | None:
    """Gives a file other bytes, where nobody else has it open or by another name and it has no attributes.

    Why not delete it and write another: for minutes after a deletion ext4 passes over the freed inode for
    each new file, which after ten thousand deletions takes longer than all the rest of an evaluation.

    Returns:
        None where there is no such file, or where it must be replaced by a new one.
    """
    try:
        handle = os.open(name, _SAME_FILE, dir_fd=within)
    except OSError:
        return None
    try:
        if not _is_ours_alone(handle):
            return None
        os.ftruncate(handle, 0)
        os.utime(handle)  # or the time of the last access would tell what somebody has set it to
        return _written(handle, data, executable)
    except OSError:
        return None  # what forbids this forbids the removal too, and that tells why
    finally:
        os.close(handle)


def _is_ours_alone(handle: int) -> bool:
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or os.listxattr(handle):
        return False
    # The kernel grants this lease only while no other descriptor or mapping of the file is open anywhere.
    # Who opens it meanwhile has us sent a signal: one that is ignored by default, not SIGIO, which kills.
    fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True


def _written(handle: int, data: bytes, executable: bool) -> os.stat_result:
    os.fchmod(handle, 0o755 if executable else 0o644)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    return os.fstat(handle)


def read_file(name: bytes, within: int) -> bytes:
    """The bytes of a file, never of what a link points to."""
    with os.fdopen(os.open(name, _OLD_FILE, dir_fd=within), "rb") as file:
        return file.read()


@lru_cache(maxsize=64)
def _as_in_mountinfo(path: Path) -> bytes:
    return re.sub(rb"[ \t\n\\]", lambda match: b"\\%03o" % match[0][0], os.fsencode(os.path.realpath(path)))


def refuse_mounts(path: Path) -> None:
    """Refuses a folder in which something is mounted, since to clean it would be to empty something foreign.

    Raises:
        StoreError: There is a mount at or below `path`.
    """
    try:
        table = Path("/proc/self/mountinfo").read_bytes()
    except OSError:
        return
    escaped = _as_in_mountinfo(path)
    if escaped not in table:
        return
    for line in table.splitlines():
        place = line.split(b" ")[4]
        if place == escaped or place.startswith(escaped + b"/"):
            raise StoreError(
                f"{path}: something is mounted in this checkout; umount {os.fsdecode(place)} first"
            )
