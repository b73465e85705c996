"""What a checkout shall hold: a tree without its hidden files, one node a folder.

Nodes know the hash they were made from, so the plan for the next candidate takes over every folder that
did not change, and asks only about files of those that did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from archives import trees
from archives.errors import StoreError
from archives.objects import Objects
from archives.trees import Entry

Hidden = Callable[[str], bool]


@dataclass(slots=True)
class Plan:
    """One folder of a checkout, and all below it."""

    oid: bytes
    files: dict[bytes, Entry] = field(default_factory=dict)
    folders: dict[bytes, Plan] = field(default_factory=dict)


def plan(
    objects: Objects,
    oid: bytes,
    hidden: Hidden | None,
    known: Plan | None,
    prefix: bytes = b"",
    depth: int = 0,
) -> Plan:
    """Plans a folder.

    Args:
        objects: Where trees are read.
        oid: The folder's tree.
        hidden: Whether a path is left out.
        known: An earlier plan of the same folder under the same rule.
        prefix: Path of the folder, with a slash at its end.
        depth: How deep it lies.
    """
    if known is not None and known.oid == oid:
        return known
    if depth > trees.MAXIMUM_DEPTH:
        raise StoreError(f"folders nest too deep at {trees.decode(prefix)[:80]!r}…")
    node = Plan(oid)
    for name, entry in objects.listing(oid).items():
        if entry[0] in trees.FOLDER_MODES:
            before = known.folders.get(name) if known is not None else None
            below = plan(objects, entry[1], hidden, before, prefix + name + b"/", depth + 1)
            if below.files or below.folders:
                node.folders[name] = below
        elif hidden is not None and hidden(trees.decode(prefix + name)):
            continue
        elif entry[0] == trees.MODULE_MODE:
            node.folders[name] = Plan(entry[1])
        else:
            node.files[name] = entry
    return node
