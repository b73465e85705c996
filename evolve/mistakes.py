"""Mistakes in a configuration, in one line: the key, its value, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


def explain(error: ValidationError, root: type[BaseModel]) -> str:
    """The first thing that is wrong, unknown keys before all else.

    Args:
        error: What pydantic found.
        root: Model of the whole configuration, which knows the keys.
    """
    problems = error.errors(include_url=False)
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    location = _real_keys(first["loc"])
    key = ".".join(str(part) for part in location)
    if first["type"] == "extra_forbidden":
        known = _known_keys(root, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
        return f"{key}: unknown key (it is {_shorten(first['input'])}); {hint}"
    if first["type"] == "missing":
        return f"{key}: missing; it has to be given"
    text = _plain(first)
    value = first.get("input")
    shown = "" if isinstance(value, Mapping | BaseModel) else f" (it is {_shorten(value)})"
    near = difflib.get_close_matches(str(value), re.findall(r"'([^']*)'", text), n=1, cutoff=0.5)
    place = f"{key}: " if key else ""
    return f"{place}{text[0].lower() + text[1:]}{shown}" + (f"; did you mean {near[0]}?" if near else "")


def _plain(problem: ErrorDetails) -> str:
    """A problem without the words of the library."""
    if problem["type"] == "string_pattern_mismatch":
        named = "name" in problem["loc"]
        return "use letters, digits, '.', '_' and '-'" if named else "it is not of the form that is needed"
    if problem["type"] in ("too_short", "string_too_short"):
        return "must not be empty"
    return problem["msg"].removeprefix("Value error, ")


def _real_keys(location: tuple[int | str, ...]) -> list[int | str]:
    """Drops what pydantic adds to a location for the branches of a union."""
    kept: list[int | str] = []
    for place, part in enumerate(location):
        if place < 2 or isinstance(part, int) or re.fullmatch(r"[A-Za-z_]\w*", part):
            kept.append(part)
    return kept if len(kept) < 3 or kept[-1] not in ("int", "bool", "str", "float") else kept[:-1]


def _shorten(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def _known_keys(root: type[BaseModel], location: list[Any]) -> list[str]:
    table: Any = root
    for part in location:
        if isinstance(part, int):
            continue
        annotation = table.model_fields[part].annotation
        table = next(t for t in _models_in(annotation))
    return list(table.model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]
