"""A real HTTP server on 127.0.0.1 that gives scripted answers, for tests of what talks to models."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """One answer: a status with a body, or something worse."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    reset: bool = False
    hang: bool = False
    claimed: int | None = None


def says(text: str, finish: str = "stop", **message: Any) -> Scripted:
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Scripted(body=json.dumps(body).encode())


def fails(status: int, message: str = "trouble", **headers: str) -> Scripted:
    body = json.dumps({"error": {"message": message}}).encode()
    return Scripted(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Seen:
    """What the server saw: bodies and headers of the requests in order, and whether a client hung up."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    @property
    def base(self) -> str:
        return f"http://{self.address}/v1"


@contextmanager
def server(answer: Callable[[int], Scripted]) -> Iterator[Seen]:
    """Serve `answer(n)` for the n-th request, counted from 0."""
    seen = Seen()
    lock = threading.Lock()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(seen.bodies)
                seen.bodies.append(body)
                seen.headers.append(dict(self.headers))
            seen.arrived.set()
            self._give(answer(number))

        def _give(self, scripted: Scripted) -> None:
            if scripted.hang:
                self._wait_for_hang_up()
            if scripted.hang or scripted.reset:
                self.close_connection = True
                return
            self.send_response(scripted.status)
            length = len(scripted.body) if scripted.claimed is None else scripted.claimed
            for name, value in {"Content-Length": str(length), **scripted.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(scripted.body)
            self.wfile.flush()
            self.close_connection = scripted.claimed is not None

        def _wait_for_hang_up(self) -> None:
            self.connection.settimeout(0.05)
            while not over.is_set():
                try:
                    if self.connection.recv(1) == b"":
                        seen.hung_up.set()
                        return
                except TimeoutError:
                    continue
                except OSError:
                    seen.hung_up.set()
                    return

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    seen.address = f"127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()
