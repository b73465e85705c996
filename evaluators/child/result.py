"""Reading the result file, which hostile code may have replaced by anything."""

from __future__ import annotations

import errno
import os
import stat
from typing import Tuple

RESULT_BYTES = 8 * 1024 * 1024
Read = Tuple["bytes | None", "str | None"]


def read_result(folder: int, name: str) -> Read:
    """Return content and problem of a file in the open folder; None twice if there is none."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        what = "a link" if error.errno == errno.ELOOP else f"not readable ({error.strerror})"
        return None, f"the result file is {what}, not a regular file"
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Read:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        return None, "the result file is not a regular file"
    if info.st_size > RESULT_BYTES:
        return None, f"the result file is larger than {RESULT_BYTES >> 20} MiB"
    parts = []
    room = RESULT_BYTES
    while room > 0:
        part = os.read(descriptor, room)
        if not part:
            break
        parts.append(part)
        room -= len(part)
    return b"".join(parts), None
