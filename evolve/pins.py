"""What judges, pinned by content: a byte that changes stops the campaign before its verdict is believed.

Each pinned file or folder has a hash of its content and a signature of what the system says of it (sizes,
times, inodes). At each verdict the signature is compared, which costs microseconds a file; only where it
differs is the content read. So a file that was merely touched, or written anew with the same bytes, stops
nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import trio

from archives.errors import EvaluatorError
from evaluators.preparation import fingerprint

FEW = 100
"""Files whose signatures are taken faster than a thread is asked for it."""


class JudgeChanged(EvaluatorError):
    """Something that judges is not what it was."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One pinned file or folder.

    Attributes:
        content: Hash of its content.
        signature: Hash of what the system says of it.
        files: How many files the signature is made of.
    """

    content: str
    signature: str
    files: int


class Pins:
    """All that is pinned, by the name that a person knows it by.

    Args:
        pins: What was pinned.
        places: Where it is now; a repository may have been moved meanwhile.
    """

    def __init__(self, pins: Mapping[str, Pin], places: Mapping[str, Path]) -> None:
        self._pins = dict(pins)
        self._places = places

    @classmethod
    def of(cls, places: Mapping[str, Path]) -> Pins:
        """Pin files and folders as they are now."""
        return cls({name: pin(name, place) for name, place in places.items()}, places)

    @classmethod
    def said(cls, facts: Mapping[str, Any], places: Mapping[str, Path]) -> Pins:
        """Pins as the journal has them."""
        return cls({name: Pin(**fact) for name, fact in facts.items() if name in places}, places)

    def facts(self) -> dict[str, Any]:
        """As JSON for the journal."""
        return {name: asdict(one) for name, one in self._pins.items()}

    def changed(self) -> list[str]:
        """Names of what differs from what was pinned; a change of signature alone is taken over."""
        found = []
        for name, known in self._pins.items():
            place = self._places[name]
            signature, files = _signature(place)
            if signature == known.signature:
                continue
            if fingerprint([(name, place)]) == known.content:
                self._pins[name] = Pin(known.content, signature, files)
            else:
                found.append(name)
        return found

    def check(self) -> None:
        """See whether all is as it was.

        Raises:
            JudgeChanged: It is not.
        """
        if changed := self.changed():
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise JudgeChanged(
                f"{changed[0]}{more} has changed since it was first relied on, so verdicts could not be "
                "compared; put it back, or `evolve resume --accept-evaluator` judges everything anew with it"
            )

    async def verify(self) -> None:
        """Like `check`, without holding up other tasks where there is much to look at."""
        if sum(one.files for one in self._pins.values()) <= FEW:
            self.check()
        else:
            await trio.to_thread.run_sync(self.check)


def pin(name: str, place: Path) -> Pin:
    """Pin one file or folder as it is now; what does not exist is pinned as nothing."""
    signature, files = _signature(place)
    return Pin(fingerprint([(name, place)]), signature, files)


def _signature(place: Path) -> tuple[str, int]:
    total, files = hashlib.sha256(), 0
    for path in _all(str(place)):
        try:
            seen = os.lstat(path)
        except OSError:
            total.update(b"nothing")
            continue
        facts = (seen.st_mode, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
        total.update(repr((path, facts)).encode("utf-8", "surrogateescape"))
        files += 1
    return total.hexdigest(), files


def _all(top: str) -> list[str]:
    found = [top, *([os.path.realpath(top)] if os.path.islink(top) else [])]  # noqa: PTH114
    for folder, folders, files in os.walk(top):
        folders.sort()
        found += [f"{folder}/{name}" for name in (*folders, *sorted(files))]
    return found
