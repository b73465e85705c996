"""Runs a command that ends with whoever asked for it: `python guard.py DESCRIPTOR COMMAND ...`.

The descriptor is the reading end of a pipe whose other end only the owner holds. The kernel closes that end
when the owner dies, however it dies; then the whole process group is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main(pipe: int, argv: list[str]) -> int:
    """Run the command as long as the owner lives; return its exit code."""
    threading.Thread(target=_end_with_owner, args=(pipe,), daemon=True).start()
    try:
        code = subprocess.call(argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: cannot be started: {error.strerror}\n")
        return 127
    return code if code >= 0 else 128 - code


def _end_with_owner(pipe: int) -> None:
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
