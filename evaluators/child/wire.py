"""Messages between the runner and the child server: a length, a JSON header, then the blobs it announces."""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, Mapping, Tuple  # this runs on Python 3.8 too

_LENGTH = struct.Struct("!I")
Message = Tuple[Dict[str, Any], Dict[str, bytes]]


def pack(header: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> bytes:
    """Return the bytes of one message."""
    blobs = blobs or {}
    sizes = {name: len(blob) for name, blob in blobs.items()}
    head = json.dumps({"header": header, "sizes": sizes}).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *blobs.values()])


class Inbox:
    """Takes bytes as they come and gives whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: dict[str, Any] | None = None

    def feed(self, data: bytes) -> None:
        """Add what was received."""
        self._buffer += data

    def take(self) -> Message | None:
        """Return the next message if all of it is here."""
        if self._head is None:
            self._head = self._take_head()
        if self._head is None or len(self._buffer) < sum(self._head["sizes"].values()):
            return None
        head, self._head = self._head, None
        blobs = {}
        for name, size in head["sizes"].items():
            blobs[name] = bytes(self._buffer[:size])
            del self._buffer[:size]
        return head["header"], blobs

    def _take_head(self) -> dict[str, Any] | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        head: dict[str, Any] = json.loads(bytes(self._buffer[_LENGTH.size : end]))
        del self._buffer[:end]
        return head
