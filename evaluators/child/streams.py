"""Bounded memory of an unbounded output stream: its head, its tail, and its last line whole."""

from __future__ import annotations

LINE_BYTES = 8 * 1024 * 1024
_BLANK = b" \t\r\n\x0b\x0c"


class Stream:
    """Keeps at most `cap` bytes and says how much was cut out of the middle."""

    def __init__(self, cap: int) -> None:
        self._room = max(cap // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._line = bytearray()
        self._last = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._total += len(data)
        self._follow_lines(data)
        missing = self._room - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data[-self._room :]
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    def text(self) -> bytes:
        """Return what was kept."""
        tail = bytes(self._tail[-self._room :])
        cut = self._total - len(self._head) - len(tail)
        if cut <= 0:
            return bytes(self._head) + tail
        return bytes(self._head) + f"\n[{cut:,} bytes of output cut here]\n".encode() + tail

    def last_line(self) -> bytes:
        """Return the last line that is not blank, up to its first `LINE_BYTES` and one."""
        return bytes(self._line) if self._line.strip(_BLANK) else self._last

    def _follow_lines(self, data: bytes) -> None:
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            lines = whole.rstrip(_BLANK)
            start = lines.rfind(b"\n") + 1
            if start:
                self._last = lines[start:]
            elif (self._line + lines).strip(_BLANK):
                self._last = bytes(self._line + lines)[: LINE_BYTES + 1]
            self._line.clear()
        self._line += rest[: LINE_BYTES + 1 - len(self._line)]


class Whole:
    """Keeps a short stream whole, or notes that it was too long."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.data = bytearray()
        self.too_long = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if len(self.data) + len(data) > self._cap:
            self.too_long = True
        else:
            self.data += data
