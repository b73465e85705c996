"""Emptying folders that hostile code wrote to: any depth and mode, no link followed, no mount crossed."""

from __future__ import annotations

import os
import stat
from typing import Iterable

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
