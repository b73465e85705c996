"""Named places at which a test can have the process killed as if the power went.

`EVOLVE_CRASH_AT=name` kills at the first time `name` is reached, `name:3` at the third. `EVOLVE_CRASH_LOG`
names a file to which the name is added first, so a test can tell that the point fired and not something
else.
"""

from __future__ import annotations

import os
import signal


def _parse(text: str) -> tuple[str, int]:
    """Split `name:N` into its parts; a plain name means the first time."""
    name, separator, times = text.rpartition(":")
    return (name, int(times)) if separator and times.isdecimal() else (text, 1)


_TARGET, _remaining = _parse(os.environ.get("EVOLVE_CRASH_AT", ""))
_LOG = os.environ.get("EVOLVE_CRASH_LOG")


def reach(name: str) -> None:
    """Die here by SIGKILL if the environment asked for this crash point."""
    global _remaining
    if name != _TARGET:
        return
    _remaining -= 1
    if _remaining:
        return
    if _LOG:
        handle = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(handle, f"{name}\n".encode())
        os.close(handle)
    os.kill(os.getpid(), signal.SIGKILL)
