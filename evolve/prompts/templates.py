"""The texts of all prompts: files, each replaceable by one of the same name in a folder of the campaign.

A prompt is the template `system`, and as the user's turn the template `context`, whose `$task` is the
template of the operator. `again` is the turn that sends a refused answer back.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from archives.errors import ConfigError

SECTIONS = (
    "goal",
    "map",
    "lessons",
    "files",
    "parts",
    "left_out",
    "verdict",
    "tried",
    "inspirations",
    "task",
)
"""Placeholders of `context`."""
_TASK = ("objective", "direction")
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "system": (),
    "context": SECTIONS,
    "again": ("problems",),
    "edit": _TASK,
    "rewrite": _TASK,
    "crossover": (*_TASK, "ours", "theirs", "partner_verdict"),
    "fix": (*_TASK, "change"),
    "simplify": _TASK,
    "explore": (*_TASK, "taken"),
    "repair": (*_TASK, "accepted", "change", "gain", "situation"),
    "reflect": (*_TASK, "goal", "known", "trials"),
    "agent": (*_TASK, "goal", "lessons", "verdict", "tried", "inspirations", "globs"),
}
"""Template to the placeholders it may use."""
REQUIRED: Mapping[str, tuple[str, ...]] = {"context": ("files", "task"), "again": ("problems",)}
"""Placeholders without which a prompt would lack what it is about."""
SHARED = ("system", "context", "again")
"""Templates that every operator uses."""
ALONE = ("agent", "reflect")
"""Templates that are a whole task by themselves."""
OPERATORS = tuple(name for name in PLACEHOLDERS if name not in SHARED)
"""Operators that have a template, which is called as they are."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of one campaign.

    Attributes:
        texts: Text by name.
        replaced: File that stands in for the one that comes with Evolve, by name.
    """

    texts: Mapping[str, str]
    replaced: Mapping[str, Path]

    def render(self, name: str, **values: str) -> str:
        """The template `name` with its placeholders filled in."""
        return Template(self.texts[name]).substitute(values).strip() + "\n"

    def version(self, operator: str) -> str:
        """Twelve digits that change with any of the texts which make the operator's prompts.

        Of a template that all share, twelve digits of its own text.
        """
        digest = hashlib.sha256()
        for name in (operator,) if operator in (*SHARED, *ALONE) else (*SHARED, operator):
            digest.update(f"{name}\0{self.texts[name]}\0".encode())
        return digest.hexdigest()[:12]


def builtin(name: str) -> str:
    """The text of a template as it comes with Evolve."""
    return files(__name__.rpartition(".")[0]).joinpath("texts", f"{name}.md").read_text(encoding="utf-8")


def load(folder: Path | None = None) -> Templates:
    """The templates, those in `folder` before those that come with Evolve.

    Raises:
        ConfigError: The folder or one of its files cannot be used; the message names it and the mistake.
    """
    texts = {name: builtin(name) for name in PLACEHOLDERS}
    replaced: dict[str, Path] = {}
    if folder is not None:
        if not folder.is_dir():
            raise ConfigError(
                f"models.prompts: there is no folder {folder}; `evolve prompts --write {folder}` makes one"
            )
        for path in sorted(folder.glob("*.md")):
            if path.name != "README.md":
                texts[path.stem] = _own(path)
                replaced[path.stem] = path
    return Templates(texts, replaced)


def _own(path: Path) -> str:
    """A template of the user, once it is known to be sound."""
    known = PLACEHOLDERS.get(path.stem)
    if known is None:
        near = difflib.get_close_matches(path.stem, PLACEHOLDERS, n=1)
        hint = f"did you mean {near[0]}.md?" if near else f"there are {', '.join(PLACEHOLDERS)}"
        raise ConfigError(f"{path}: no prompt is called {path.stem}; {hint}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    template = Template(text)
    if not template.is_valid():
        raise ConfigError(f"{path}: a $ stands alone; write $$ for the sign itself")
    used = template.get_identifiers()
    if unknown := next((name for name in used if name not in known), None):
        may = ", ".join(f"${name}" for name in known) or "none"
        raise ConfigError(f"{path}: unknown placeholder ${unknown}; it may use: {may}")
    if missing := next((name for name in REQUIRED.get(path.stem, ()) if name not in used), None):
        raise ConfigError(f"{path}: it lacks ${missing}, without which a model would not know what to change")
    return text
