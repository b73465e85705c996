"""The only way out for a coding agent: an HTTP proxy that reaches the hosts it is told, and no other.

It listens on a socket in the file system, because the agent's network ends at its own loopback. Encrypted
traffic passes as it is (`CONNECT`), so no key of the agent's provider is ever seen here.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import trio

LONGEST_HEAD = 64 * 1024
CONNECT_SECONDS = 30.0
CHUNK = 1 << 16
_PORTS = {"http": 80, "https": 443}


def allowed(host: str, port: int, hosts: Sequence[str]) -> bool:
    """Whether a host is among those that may be reached.

    Args:
        host: Name or address, in any case.
        port: Its port.
        hosts: "name" (ports 80 and 443), "name:port", or "*.name" for all below a name.
    """
    for pattern in hosts:
        name, _, wanted = pattern.partition(":")
        ports = (int(wanted),) if wanted else (80, 443)
        below = name.startswith("*.") and host.lower().endswith(name[1:].lower())
        if port in ports and (below or host.lower() == name.lower()):
            return True
    return False


@asynccontextmanager
async def proxy(place: Path, hosts: Sequence[str], refused: Callable[[str], None]) -> AsyncIterator[None]:
    """Serve on the socket `place` while the block runs; `refused` is told each host that was not allowed."""
    listener = _listen(place)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, listener, hosts, refused)
            yield
            nursery.cancel_scope.cancel()
    finally:
        place.unlink(missing_ok=True)


def _listen(place: Path) -> trio.SocketListener:
    """Bind through a descriptor of the folder: the path itself may be longer than an address may be."""
    place.unlink(missing_ok=True)
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(f"/proc/self/fd/{folder}/{place.name}")
        bound.listen(64)
    finally:
        os.close(folder)
    return trio.SocketListener(trio.socket.from_stdlib_socket(bound))


async def _serve(listener: trio.SocketListener, hosts: Sequence[str], refused: Callable[[str], None]) -> None:
    async def one(client: trio.SocketStream) -> None:
        async with client:
            try:
                await _pass_on(client, hosts, refused)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # either side has gone

    await trio.serve_listeners(one, [listener])


async def _pass_on(client: trio.SocketStream, hosts: Sequence[str], refused: Callable[[str], None]) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        data = await client.receive_some(CHUNK)
        head += data
        if not data or len(head) > LONGEST_HEAD:
            return None
    wanted = _wanted(head)
    if wanted is None:
        return await _answer(client, "400 Bad Request")
    host, port, first = wanted
    if not allowed(host, port, hosts):
        refused(f"{host}:{port}")
        return await _answer(client, "403 Forbidden")
    try:
        with trio.fail_after(CONNECT_SECONDS):
            server = await trio.open_tcp_stream(host, port)
    except (OSError, trio.TooSlowError):
        return await _answer(client, "502 Bad Gateway")
    async with server, trio.open_nursery() as nursery:
        if first is None:
            await client.send_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            first = head[head.index(b"\r\n\r\n") + 4 :]
        if first:
            await server.send_all(first)
        nursery.start_soon(_pump, client, server)
        await _pump(server, client)
        nursery.cancel_scope.cancel()
    return None


def _wanted(head: bytes) -> tuple[str, int, bytes | None] | None:
    """Host, port and what to send there first; None for the last where a tunnel is asked for."""
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3:
        return None
    method, target, version = words
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    if method == "CONNECT":
        return parts.hostname, port, None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.hostname, port, f"{method} {path} {version}\r\n".encode("latin-1") + rest


async def _answer(client: trio.SocketStream, status: str) -> None:
    await client.send_all(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


async def _pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
    try:
        while data := await source.receive_some(CHUNK):
            await target.send_all(data)
        await target.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return
