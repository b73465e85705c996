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
    others = [p["ctx"]["expected"] for p in problems if p["type"] == "literal_error" and p is not first]
    text = " or ".join([_plain(first), *(others if _alternative(problems, location) else ())])
    text += _example(root, location, first["type"])
    value = first.get("input")
    shown = "" if isinstance(value, Mapping | BaseModel) else f" (it is {_shorten(value)})"
    near = difflib.get_close_matches(str(value), re.findall(r"'([^']*)'", text), n=1, cutoff=0.5)
    place = f"{key}: " if key else ""
    return f"{place}{text[0].lower() + text[1:]}{shown}" + (f"; did you mean {near[0]}?" if near else "")


def _alternative(problems: list[ErrorDetails], location: list[int | str]) -> bool:
    """Whether all that is wrong is wrong with one value, which no branch of a union takes."""
    return all(_real_keys(problem["loc"])[: len(location)] == location for problem in problems)


def _example(root: type[BaseModel], location: list[int | str], kind: str) -> str:
    """What the key takes, by an example: of its documentation, or made of its table's first key."""
    if kind == "model_type":
        return f", such as {{{_known_keys(root, location)[0]} = …}}"
    if kind == "list_type":
        inner = _models_in(_table(root, location[:-1]).model_fields[str(location[-1])].annotation)
        one = f"{{{next(iter(inner[0].model_fields))} = …}}" if inner else "…"
        return f", such as [{one}]"
    if kind not in ("string_pattern_mismatch", "string_type"):
        return ""
    field = _table(root, location[:-1]).model_fields.get(str(location[-1]))
    shown = re.search(r'such as ("[^"]+")', (field.description if field else None) or "")
    return f", such as {shown[1]}" if shown else ""


def _plain(problem: ErrorDetails) -> str:
    """A problem without the words of the library."""
    if problem["type"] == "string_pattern_mismatch":
        named = "name" in problem["loc"]
        return "use letters, digits, '.', '_' and '-'" if named else "it is not of the form that is needed"
    if problem["type"] in ("too_short", "string_too_short"):
        return "must not be empty"
    if problem["type"] == "model_type":
        return "must be a table"
    if problem["type"] == "list_type":
        return "must be a list"
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
    return list(_table(root, location).model_fields)


def _table(root: type[BaseModel], location: list[Any]) -> type[BaseModel]:
    table: Any = root
    for part in location:
        if isinstance(part, int):
            continue
        annotation = table.model_fields[part].annotation
        table = next(t for t in _models_in(annotation))
    return table  # type: ignore[no-any-return]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]
