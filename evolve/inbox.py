"""Requests to the orchestrator, as files in the campaign's inbox.

The problem: only the orchestrator writes to the journal, yet another process wants it to pause, to stop, to
spend more. Signals carry no data and are not answered; a socket needs a listener, dies with it, and cannot be
left for later. A file is there whether anybody lives or not, and everybody can look at it.

A request is written under a temporary name and then linked to the next free number, so it appears whole, in
order, and never replaces another. Whoever owns the campaign takes requests up in that order: what it does
about one and the answer are one transaction of the journal, then the file is removed. Killed between the two,
the next owner finds the answer and does nothing twice.

With no orchestrator alive the sender takes its lock and takes up what is there himself; so there is one way
to apply a request, and the lock still decides who writes. A request names the orchestrator it is meant for:
a `stop` that nobody took up before its orchestrator died does not stop the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archives.errors import EvolveError
from archives.reader import Reader
from archives.records import Event

ACTIONS = ("stop", "pause", "resume", "budget", "propose", "reevaluate", "lessons")
KIND = "request"
"""Kind of the events that answer requests."""
_NAME = re.compile(r"[0-9]{8}\.json")
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """Something the owner of a campaign is asked to do.

    Attributes:
        action: One of `ACTIONS`.
        arguments: What it needs to know.
        addressee: Process number of the orchestrator it is meant for; None: whoever owns the campaign.
        id: Tells it from all others.
    """

    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    addressee: int | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(frozen=True, slots=True)
class Letter:
    """A file of the inbox: the request in it, or why there is none."""

    path: Path
    request: Request | None
    fault: str = ""

    def discard(self) -> bool:
        """Remove the file; False if somebody else has."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request.

    Attributes:
        done: Whether it was done.
        text: What was done, or why not, in one line.
        data: More of it (JSON).
    """

    done: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def event(self, request: Request) -> Event:
        """The record that gives this answer."""
        about = {"request": request.id, "action": request.action, "done": self.done, **self.data}
        return Event(KIND, f"{request.action}: {self.text}", data=about)


def post(inbox: Path, request: Request) -> Letter:
    """Put a request into the inbox, behind all that are there."""
    inbox.mkdir(exist_ok=True)
    body = {
        "version": 1,
        "id": request.id,
        "action": request.action,
        "arguments": dict(request.arguments),
        "addressee": request.addressee,
    }
    draft = inbox / f".{request.id}.tmp"
    draft.write_text(json.dumps(body), encoding="utf-8")
    try:
        return Letter(_numbered(inbox, draft), request)
    finally:
        draft.unlink()


def _numbered(inbox: Path, draft: Path) -> Path:
    """Link a draft to the next free number; of two that want the same one, one takes the next."""
    number = max((int(name[:8]) for name in _names(inbox)), default=0)
    while True:
        number += 1
        place = inbox / f"{number:08d}.json"
        try:
            os.link(draft, place)
        except FileExistsError:
            continue
        return place


def _names(inbox: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(inbox) if _NAME.fullmatch(name))  # noqa: PTH208 - half the cost
    except FileNotFoundError:
        return []


def pending(inbox: Path) -> list[Letter]:
    """What is in the inbox, in order; costs microseconds when it is empty."""
    letters = []
    for name in _names(inbox):
        with contextlib.suppress(FileNotFoundError):  # withdrawn meanwhile
            letters.append(_read(inbox / name))
    return letters


def _read(path: Path) -> Letter:
    try:
        with path.open("rb") as file:
            body = json.loads(file.read(_LARGEST))
        request = Request(body["action"], body["arguments"], body["addressee"], body["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Letter(path, None, "it is no request")
    if body.get("version") != 1 or not _sound(request):
        return Letter(path, None, "it is no request that this version knows")
    return Letter(path, request)


def _sound(request: Request) -> bool:
    return (
        request.action in ACTIONS
        and isinstance(request.arguments, dict)
        and isinstance(request.id, str)
        and (request.addressee is None or isinstance(request.addressee, int))
    )


def answer_to(reader: Reader, request: Request, after: int = 0) -> Answer | None:
    """The answer in the journal, None if there is none yet.

    Args:
        reader: The journal.
        request: What was asked.
        after: Id of an event that was there before the request.
    """
    for event in reader.events(after):
        if event.kind == KIND and event.data.get("request") == request.id:
            text = event.text.removeprefix(f"{request.action}: ")
            return Answer(bool(event.data.get("done")), text, event.data)
    return None


class NoAnswer(EvolveError):
    """The orchestrator lives and did not take a request up in time."""
