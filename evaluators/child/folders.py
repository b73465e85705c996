"""Emptying folders that hostile code wrote to: any depth and mode, no link followed, no mount crossed."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from typing import Iterable

_SAME = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def empty(folder: str, keep: Iterable[str] = ()) -> None:
    """Delete everything in `folder` but the paths in `keep` and the folders that lead to them."""
    kept = [path for path in keep if path.startswith(folder + "/")]
    descriptor = os.open(folder, _FOLDER)
    try:
        for name in os.listdir(descriptor):
            path = f"{folder}/{name}"
            if path in kept:
                continue
            if any(other.startswith(path + "/") for other in kept):
                empty(path, kept)
            else:
                _delete(descriptor, name)
    finally:
        os.close(descriptor)


def put(folder: int, name: str, data: bytes) -> None:
    """Write a file, into the one that is there if nobody else has that open or by another name.

    Why, and why a lease, is told in `archives.folders.renew_file`, which serves checkouts.
    """
    descriptor = _own_file(folder, name)
    if descriptor < 0:
        try:
            _delete(folder, name)
        except FileNotFoundError:
            pass
        descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o644)
        file.write(data)


def _own_file(folder: int, name: str) -> int:
    """Return a descriptor of the file, emptied; -1 where a new one is needed."""
    try:
        descriptor = os.open(name, _SAME, dir_fd=folder)
    except OSError:
        return -1
    try:
        info = os.fstat(descriptor)
        plain = hasattr(fcntl, "F_SETLEASE") and stat.S_ISREG(info.st_mode) and info.st_nlink == 1
        if plain and not os.listxattr(descriptor):
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            os.ftruncate(descriptor, 0)
            os.utime(descriptor)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return -1


def _delete(top: int, name: str) -> None:
    """Delete one entry of `top`; what is nested is moved up to `top` first, so that depth costs no stack."""
    waiting = [name]
    moved = 0
    while waiting:
        current = waiting.pop()
        info = os.stat(current, dir_fd=top, follow_symlinks=False)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(current, dir_fd=top)
            continue
        descriptor = _open_folder(top, current, info.st_mode)
        try:
            for entry in os.listdir(descriptor):
                if not stat.S_ISDIR(_own(descriptor, entry)):
                    os.unlink(entry, dir_fd=descriptor)
                    continue
                moved += 1
                lifted = f".evolve-{os.getpid()}-{moved}"
                os.rename(entry, lifted, src_dir_fd=descriptor, dst_dir_fd=top)
                waiting.append(lifted)
        finally:
            os.close(descriptor)
        os.rmdir(current, dir_fd=top)


def _own(folder: int, name: str) -> int:
    """Return the mode of an entry; a folder is made ours to enter and to move."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=folder)
    return mode


def _open_folder(top: int, name: str, mode: int) -> int:
    if mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=top)
    return os.open(name, _FOLDER, dir_fd=top)
