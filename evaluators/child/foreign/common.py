"""What the contracts share: loading the evaluator, reading the candidate, bounded text."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import threading
import types
from typing import Any, Callable, Mapping

from .. import starting
from ..channel import Channel, Failed

TEXT = 64 * 1024
"""Characters kept of one artifact."""
ARTIFACTS = 48
FEEDBACK = 24 * 1024
"""Characters of feedback."""


class Limit:
    """Sends an answer and ends the process if a block takes too long.

    The block stays in the main thread, so an evaluator may use signals; only this watches from outside.
    """

    def __init__(self, seconds: float | None, channel: Channel, answer: Callable[[], dict[str, Any]]) -> None:
        self._done = threading.Event()
        self._seconds = seconds
        self._channel = channel
        self._answer = answer

    def __enter__(self) -> None:
        if self._seconds is not None:
            threading.Thread(target=self._watch, daemon=True).start()

    def __exit__(self, *exc_info: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        if not self._done.wait(self._seconds):
            reply = self._answer()
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError, AttributeError):
                    pass  # closed or replaced by the candidate
            self._channel.send(reply)
            os._exit(0)


def load(config: Mapping[str, Any], file: str, name: str, channel: Channel) -> types.ModuleType:
    """Import a file of the evaluator under a name.

    Raises:
        Failed: It is not there.
    """
    path = os.path.join(config["work"], file)
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == path:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise Failed(f"{file} is not in the checkout, or is no Python file")
    return starting.load(spec, spec.loader, channel)


def read_bytes(config: Mapping[str, Any], file: str) -> bytes:
    """Return what the candidate has in one of its files.

    Raises:
        Failed: It has no such file.
    """
    path = os.path.join(config["work"], file)
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError as error:
        raise Failed(f"the candidate's {file} cannot be read: {error.strerror}") from None


def scratch(config: Mapping[str, Any], name: str) -> str:
    """Make a folder of one's own in the scratch folder."""
    path = os.path.join(config["scratch"], name)
    os.makedirs(path, exist_ok=True)
    return path


def headline(error: BaseException) -> str:
    """Return an exception as one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def finite(metrics: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split metrics into those that are finite numbers and the rest."""
    numbers: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in metrics.items():
        number = plain_number(value)
        if number is None:
            rest[str(name)] = value
        else:
            numbers[str(name)] = number
    return numbers, rest


def plain_number(value: Any) -> Any:
    """Return a bool or a finite float, also of numpy's numbers; None of anything else."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, (int, float)):
        item = getattr(value, "item", None)
        if item is None or getattr(value, "shape", None) != ():
            return None
        value = item()
        if not isinstance(value, (int, float)):
            return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def text_of(value: Any) -> str:
    """Return anything as bounded text."""
    if isinstance(value, bytes):
        try:
            text = value[: 4 * TEXT].decode("utf-8", "strict" if len(value) <= 4 * TEXT else "ignore")
        except UnicodeDecodeError:
            return f"({len(value)} bytes that are no text)"
    elif isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, default=_shown, ensure_ascii=False, indent=1)
        except (TypeError, ValueError, RecursionError):
            text = str(value)
    if len(text) > TEXT:
        text = f"{text[:TEXT]}\n({len(text) - TEXT} further characters left out)"
    return text


def _shown(value: Any) -> Any:
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) else str(value)


def artifacts_of(artifacts: Mapping[Any, Any]) -> dict[str, str]:
    """Return artifacts as bounded text."""
    return {_name(name): text_of(value) for name, value in list(artifacts.items())[:ARTIFACTS]}


def _name(name: Any) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(name))[:200] or "artifact"


def sections(parts: Mapping[Any, Any]) -> str:
    """Return named texts one below the other, within the bounds of feedback."""
    found: list[str] = []
    room = FEEDBACK
    for name, value in parts.items():
        text = text_of(value).strip()
        if not text:
            continue
        line = f"{_name(name)}: {text}" if "\n" not in text else f"{_name(name)}:\n{text}"
        if len(line) > room:
            found.append(line[:room] + " (cut)")
            break
        found.append(line)
        room -= len(line)
    return "\n".join(found)
