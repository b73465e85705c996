"""Proposals from outside: a patch, or a reply in any form a model may give, handed in by `evolve propose`.

What was handed in stands in the proposal's payload in the journal, so one that nobody has taken up when the
run ends is judged by the next.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from archives.errors import StoreError
from archives.records import Proposal
from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.operators.replies import ReplyError, apply, parse
from evolve.quoting import one_line

Kind = Literal["patch", "reply"]
NAME = "manual"


def payload(kind: Kind, content: bytes) -> dict[str, str]:
    """What a proposal keeps of something that was handed in."""
    return {"kind": kind, "content": base64.b64encode(content).decode("ascii")}


class Manual(Stateless):
    """Makes candidates of what was handed in."""

    name = NAME
    is_async = False
    needs: Needs = "nothing"

    def __init__(self) -> None:
        self._waiting: dict[int, Mapping[str, Any]] = {}

    def handles(self, paths: Sequence[str]) -> bool:
        """People may change any file that may change."""
        return True

    def recall(self, proposal: Proposal) -> None:
        """Take in what a proposal holds."""
        if proposal.operator == self.name and "content" in proposal.payload:
            self._waiting[proposal.number] = proposal.payload

    def propose(self, order: Order, source: Source) -> Draft:
        """Apply what was handed in to the parent it was handed in for.

        Raises:
            Refused: It does not apply.
        """
        given = self._waiting.pop(order.number, None)
        if given is None:
            raise Refused("what was handed in is lost; hand it in again")
        content = base64.b64decode(given["content"])
        about = {"kind": given["kind"]}
        where = f"candidate {order.parent.id[:10]}"
        try:
            if given["kind"] == "patch":
                tree = source.store.apply_patch(order.parent.id, content)
                return Draft(tree=tree, parent=order.parent.id, summary=given["summary"], payload=about)
            known = {entry.path for entry in source.store.files(order.parent.id)}
            parsed = parse(content.decode("utf-8", "replace"), known=known)
            changes = apply(parsed.edits, source, order.parent.id)
            return Draft(changes=changes, summary=given["summary"], rationale=parsed.prose, payload=about)
        except (StoreError, ReplyError) as error:
            reason = f"the {given['kind']} does not apply to {where}: {one_line(error, 300)}"
            raise Refused(reason, payload=about) from error
