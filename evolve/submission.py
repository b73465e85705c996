"""Handing in a proposal from outside: what is checked before it is journaled, and the wait for its end.

It becomes an open proposal of the operator `manual`, in the same transaction as the answer to who handed it
in: taken up at once by a living orchestrator, by the next one otherwise.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from archives.reader import Reader
from archives.records import Basis, Proposal
from evolve.operators.manual import NAME, payload
from evolve.quoting import one_line

if TYPE_CHECKING:
    from evolve.campaign import Campaign

LARGEST = 8 * 1024 * 1024
"""Bytes that may be handed in at a time."""
_KINDS = ("patch", "reply")


def unsound(reader: Reader, arguments: Mapping[str, Any], left: float) -> str | None:
    """Why something that was handed in cannot be taken; None if it can.

    Args:
        reader: The journal.
        arguments: What was handed in: kind, content (base64), parent, summary.
        left: Proposals that the budget leaves.
    """
    if arguments.get("kind") not in _KINDS:
        return f"{arguments.get('kind')!r} cannot be handed in; a patch or a reply can"
    try:
        content = base64.b64decode(str(arguments.get("content")), validate=True)
    except binascii.Error:
        return "its content is not base64"
    if not content.strip():
        return f"the {arguments['kind']} is empty"
    if reader.candidate(str(arguments.get("parent"))) is None:
        return f"there is no candidate {arguments.get('parent')!r}"
    if left < 1:
        return "the budget leaves no proposal; `evolve budget add proposals=1` first"
    return None


def opened(number: int, basis: Basis, arguments: Mapping[str, Any]) -> Proposal:
    """The proposal of something sound that was handed in."""
    content = base64.b64decode(arguments["content"])
    summary = one_line(arguments.get("summary") or f"{arguments['kind']} handed in", 72)
    about = {**payload(arguments["kind"], content), "summary": summary}
    return Proposal(number, NAME, arguments["parent"], basis, policy=NAME, summary=summary, payload=about)


def await_end(campaign: Campaign, number: int) -> Proposal | None:
    """Wait until a proposal is done, or nobody lives who could take it further; None if it is unknown."""
    with campaign.reader() as reader:
        while True:
            alive = campaign.owner() is not None
            found = reader.proposal(number)
            if found is None or found.state == "done" or not alive:
                return found
            time.sleep(0.1)
