"""The reference page of `evolve.toml`: `python -m evolve.reference > docs/configuration.md`."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evolve.config import Config
from evolve.tables.base import Table

HEAD = """# evolve.toml

Only `artifact.include` and one of `evaluator.command`, `function`, `pytest`, `benchmark` and `contract` have
to be given. An unknown key or a wrong value is one line that names it, before anything starts. Times are
seconds or texts such as "90s", "10m", "2h"; sizes are bytes or texts such as "512MiB". Paths and globs are
relative to the folder of the file.

(Written by `python -m evolve.reference` from `evolve/config.py` and `evolve/tables/`.)
"""


def page() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for name, field in Config.model_fields.items():
        table = _table_of(field.annotation)
        if table is not None:
            parts.append(_section(name, table))
    return "\n".join(parts)


def _table_of(annotation: Any) -> type[Table] | None:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next((t for part in get_args(annotation) if (t := _table_of(part)) is not None), None)


def _section(name: str, table: type[Table]) -> str:
    lines = [
        f"## [{name}]",
        "",
        (table.__doc__ or "").strip(),
        "",
        "| key | default | meaning |",
        "|---|---|---|",
    ]
    nested = []
    for key, field in table.model_fields.items():
        lines.append(f"| `{key}` | {_default(field)} | {' '.join((field.description or '').split())} |")
        inner = _table_of(field.annotation)
        if inner is not None:
            nested.append(
                _section(f"{name}.{key}{'[]' if get_origin(field.annotation) is list else ''}", inner)
            )
    return "\n".join([*lines, "", *nested])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == "" or isinstance(value, BaseModel):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value!r}`".replace("'", '"')


if __name__ == "__main__":
    print(page(), end="")
