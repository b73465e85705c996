"""Candidates that wait to be judged again, in the journal: what is known of them is not believed, or doubted.

Each is a mapping with a `candidate`, and a `seed` where it is one more look at it; else it is looked at as if
it were new.
"""

from __future__ import annotations

from typing import Any

from archives.reader import Reader

CLAIMS = "claims"


def claims_of(reader: Reader) -> list[dict[str, Any]]:
    """What is to be judged again, in this order."""
    found: list[dict[str, Any]] = reader.setting(CLAIMS, [])
    return found


def next_seed(reader: Reader, candidate: str) -> int | None:
    """A seed under which a candidate was not judged yet; None where it was not judged at all."""
    looks = [one.seed for one in reader.evaluations(candidate, "search") if one.purpose != "gate"]
    repeats = reader.setting("config")["evaluator"].get("repeats", 1)
    return max(*looks, repeats) + 1 if looks else None
