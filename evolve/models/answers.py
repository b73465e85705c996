"""What a client brings back from one attempt, and how failures are put into words."""

from __future__ import annotations

import errno
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from evolve.models.errors import Fault, FaultKind
from evolve.quoting import one_line

LONGEST = 4 * 1024 * 1024
"""Bytes of an answer beyond which it is not read further."""

SERVER_TROUBLE = frozenset({500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
FINAL_CODES = ("insufficient_quota", "billing_hard_limit", "credit balance is too low")
NOT_MADE = {"ClientConnectorError", "ConnectError", "ConnectTimeout", "gaierror", "ConnectionRefusedError"}
"""Exceptions of connections over which no request went."""

_TOO_LONG = re.compile(
    r"context[_ -]?(length|window|size)|(prompt|input) is too long|too many (input |prompt )?tokens"
    r"|maximum number of (input )?tokens|too large for model|reduce the length of",
    re.IGNORECASE,
)
_SIZES = (
    r"context (?:length|window|size)\D{0,20}?([\d,]{3,})",
    r"> ?([\d,]{3,}) (?:tokens )?maximum",
    r"allowed \(?([\d,]{3,})",
    r"([\d,]{3,}) maximum context",
    r"limit of ([\d,]{3,}) tokens",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer of a model."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    usd: float | None = None
    cached_tokens: int = 0


def fault_of_status(status: int, text: str, retry_after: str | None, date: str | None = None) -> Fault:
    """The fault behind an HTTP status other than 2xx; `text` is what the server said."""
    kind: FaultKind = "answer"
    if status in (400, 413, 422) and _TOO_LONG.search(text):
        kind = "overflow"
    elif status == 429 and not any(code in text for code in FINAL_CODES):
        kind = "rate"
    elif status == 408:
        kind = "timeout"
    elif status in SERVER_TROUBLE:
        kind = "server"
    reason = one_line(f"HTTP {status}: {text}" if text else f"HTTP {status}", 300)
    if kind in ("answer", "overflow"):
        return Fault(reason, kind, size=context_size(text) if kind == "overflow" else None)
    return Fault(reason, kind, wait=seconds_to_wait(retry_after, date))


def context_size(text: str) -> int | None:
    """Tokens that a model takes, from the words with which it refuses a prompt that is too long."""
    for pattern in _SIZES:
        if found := re.search(pattern, text, re.IGNORECASE):
            return int(found[1].replace(",", ""))
    return None


def fault_of_exception(error: BaseException, timeout: float) -> Fault:
    """The fault behind an exception of a transport, from the most telling one in its chain."""
    chain = list(_chain(error))
    names = {type(each).__name__ for each in chain}
    if any(isinstance(each, TimeoutError) for each in chain) or "Timeout" in names:
        return Fault(f"no answer within {timeout:g} s", "timeout", lost="ConnectTimeout" not in names)
    for each in chain:
        if isinstance(each, socket.gaierror):
            return Fault("the name of the host is not known", "connection")
        if isinstance(each, ConnectionRefusedError) or getattr(each, "errno", None) == errno.ECONNREFUSED:
            return Fault("connection refused", "connection")
    reason = one_line(f"connection failed: {chain[-1] or type(chain[-1]).__name__}", 300)
    return Fault(reason, "connection", lost=not names & NOT_MADE)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def seconds_to_wait(retry_after: str | None, date: str | None = None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date.

    A date is compared with our clock and with the server's own `Date`; the longer wait counts, so that
    a clock that is off never makes us come too early.
    """
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        until = _timestamp(retry_after)
    if until is None:
        return None
    return max(0.0, until - time.time(), until - (_timestamp(date) or until))


def _timestamp(date: str | None) -> float | None:
    if not date:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
