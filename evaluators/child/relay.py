"""Lets a program without a network reach the hosts it is allowed to: `python relay.py SOCKET COMMAND ...`.

Behind the walls there is no network but an own loopback. This process listens there as an HTTP proxy, starts
the command with the proxy's address in its environment, and carries every connection over to a socket in
the file system, behind which the orchestrator decides which hosts may be reached. It ends with the
command, and with its exit code.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading

_CHUNK = 1 << 16
_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def main(way_out: str, argv: list[str]) -> int:
    """Serve as long as the command runs; return its exit code."""
    listener = socket.create_server(("127.0.0.1", 0))
    here = f"http://127.0.0.1:{listener.getsockname()[1]}"
    proxies = dict.fromkeys(_NAMES, here)
    proxies.update({name.lower(): here for name in _NAMES})
    # Node reads the variables only if it is told to.
    environment = dict(os.environ, NO_PROXY="", no_proxy="", NODE_USE_ENV_PROXY="1", **proxies)
    # Through a descriptor of its folder: the path itself may be longer than an address may be.
    folder = os.open(os.path.dirname(way_out), os.O_RDONLY | os.O_DIRECTORY)
    address = f"/proc/self/fd/{folder}/{os.path.basename(way_out)}"
    threading.Thread(target=_serve, args=(listener, address), daemon=True).start()
    code = subprocess.call(argv, env=environment)
    return code if code >= 0 else 128 - code


def _serve(listener: socket.socket, way_out: str) -> None:
    while True:
        inside, _ = listener.accept()
        outside = socket.socket(socket.AF_UNIX)
        try:
            outside.connect(way_out)
        except OSError:
            inside.close()
            outside.close()
            continue
        for source, target in ((inside, outside), (outside, inside)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while True:
            data = source.recv(_CHUNK)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it was closed from the other side


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
