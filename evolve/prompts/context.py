"""What a prompt tells about a campaign: files, verdict, inspirations, each within its share of the size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archives.records import Candidate
from evolve.operators.base import Order, Source
from evolve.prompts import fence_for, quoted
from evolve.quoting import one_line, plain, shorten

LONGEST_LIST = 50


@dataclass(frozen=True, slots=True)
class Files:
    """Editable files: those that are shown in full, and the paths of those that are not."""

    shown: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def editable_files(order: Order, source: Source, size: int) -> Files:
    """What fits into `size` characters: first the files that the parent changed, then small ones."""
    texts: dict[str, str] = {}
    left_out: list[str] = []
    entries = [each for each in source.store.files(order.parent.id) if source.editable(each.path)]
    for entry in entries:
        text = _text(source.store.blob(entry.oid)) if entry.mode in (0o100644, 0o100755) else None
        if text is None or not entry.path.isprintable():
            left_out.append(entry.path)
        else:
            texts[entry.path] = text
    chosen: set[str] = set()
    for path in sorted(texts, key=lambda each: (each not in order.parent.changed, len(texts[each]), each)):
        cost = len(texts[path]) + len(path) + 20
        if cost <= size:
            chosen.add(path)
            size -= cost
    shown = tuple((path, texts[path]) for path in sorted(chosen))
    return Files(shown, tuple(sorted([*left_out, *(path for path in texts if path not in chosen)])))


def _text(content: bytes) -> str | None:
    """Content as text, or None where a model could not quote it faithfully."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def files_section(files: Files) -> str:
    """The files in full, in the form in which a whole file may be given back."""
    parts = []
    for path, text in files.shown:
        fence = fence_for(text)
        parts.append(f"{path}\n{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}")
    return quoted("\n\n".join(parts), "editable files")


def left_out_section(files: Files) -> str:
    """The names of editable files that are not shown; empty if there are none."""
    if not files.left_out:
        return ""
    names = [one_line(path) for path in files.left_out[:LONGEST_LIST]]
    more = len(files.left_out) - len(names)
    listed = quoted("\n".join(names + ([f"and {more} more"] if more else [])), "paths")
    return f"Editable too, but not shown, so leave them alone:\n\n{listed}\n\n"


def verdict_section(order: Order, objective: str, direction: str, size: int) -> str:
    """What the evaluator said about the parent."""
    if order.parent_score is None:
        said = "The evaluator gave this version no score."
    else:
        better = "higher" if direction == "maximize" else "lower"
        score = f"{order.parent_score:.10g}"
        said = f'The evaluator scored this version {score} ("{objective}", {better} is better).'
    feedback = plain(order.feedback).strip()
    if not feedback:
        return said
    return f"{said} It also said:\n\n{quoted(shorten(feedback, size), 'evaluator')}"


def inspirations_section(inspirations: Sequence[Candidate], order: Order, source: Source, size: int) -> str:
    """Other candidates as differences from the parent; empty if there are none."""
    parts = []
    for candidate in inspirations:
        if candidate.id == order.parent.id:
            continue
        difference = source.store.sketch(order.parent.id, candidate.id)
        title = one_line(candidate.summary) or "no title"
        parts.append(f"{title}\n\n{shorten(plain(difference), size // len(inspirations))}")
    if not parts:
        return ""
    blocks = "\n\n".join(quoted(part, "another candidate") for part in parts)
    return f"\n\nOther versions that did well, as differences from this one; borrow their ideas:\n\n{blocks}"
