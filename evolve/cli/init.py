"""`evolve init`: a commented configuration, made of what the repository says about itself."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from archives.repository import Repository
    from evolve.answers import Started
    from evolve.detect import Detected


SYSTEMS = ("openevolve", "shinka", "gepa")
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--force", is_flag=True, help="Replace what exists.")
@click.option("--evaluator", is_flag=True, help="Also write the skeleton of an evaluate.py.")
@click.option(
    "--from", "system", type=click.Choice(SYSTEMS), help="Take over what was made for another system."
)
@click.argument(
    "target",
    metavar="[FOLDER]",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@json_option
@click.pass_obj
def init(
    place: Place, force: bool, evaluator: bool, system: str | None, target: Path | None, as_json: bool
) -> None:
    """Write a commented evolve.toml for FOLDER, by default this one; nothing of the repository is run."""
    from archives.repository import Repository
    from evolve.cli.inspect import print_json

    where = (place.start / (target or "")).resolve()
    repository = Repository.find(where)
    name = place.campaign or ""
    tracked = _tracked(repository, where)
    if system is not None:
        answer = _taken_over(system, where, tracked, name, force)
    else:
        answer = _made(where, tracked, name, force, evaluator)
    answer = replace(answer, notes=[*answer.notes, *_state_of(repository)])
    if as_json:
        return print_json(answer)
    from evolve.views.terminal import started
    from evolve.views.words import console

    return started(console(), answer)


def _made(folder: Path, tracked: list[str], name: str, force: bool, evaluator: bool) -> Started:
    """Make a configuration of what the repository says about itself."""
    from evolve import answers
    from evolve.config import FILE_NAME, parse
    from evolve.detect import detect
    from evolve.templates import configuration, skeleton

    target, judge = folder / FILE_NAME, folder / "evaluate.py"
    _refuse_to_replace([target, *([judge] if evaluator else [])], force)
    if evaluator:
        judge.write_text(skeleton(detect(folder, tracked).tests), encoding="utf-8")
    found = detect(folder, tracked)
    text = configuration(found, name)
    parse(tomllib.loads(text), FILE_NAME)
    target.write_text(text, encoding="utf-8")
    return answers.Started(
        path=str(target),
        evaluator=str(judge) if evaluator else None,
        chosen=_chosen(found),
        notes=found.notes,
    )


def _taken_over(system: str, folder: Path, tracked: list[str], name: str, force: bool) -> Started:
    """Make a configuration of what another system's files say."""
    from importlib import import_module

    from evolve import answers
    from evolve.config import FILE_NAME, parse
    from evolve.foreign.found import configuration

    found = import_module(f"evolve.foreign.{system}").inspect(folder)
    _refuse_to_replace([folder / path for path in (FILE_NAME, *found.write)], force)
    text = configuration(found, name)
    parse(tomllib.loads(text), FILE_NAME)
    for path, content in {**found.write, FILE_NAME: text}.items():
        (folder / path).write_text(content, encoding="utf-8")
    new = [path for path in (found.path.partition(":")[0], *found.include) if path not in tracked]
    notes = [f"{path} is not tracked by Git; commit it, for a campaign starts from a commit" for path in new]
    return answers.Started(
        path=str(folder / FILE_NAME), evaluator=None, chosen=found.mapped, notes=[*found.notes, *notes]
    )


def _refuse_to_replace(paths: list[Path], force: bool) -> None:
    from archives.errors import ConfigError

    for path in paths:
        if path.exists() and not force:
            raise ConfigError(f"{path} exists; edit it, or give --force to replace it")


def _tracked(repository: Repository, folder: Path) -> list[str]:
    """Files in Git's index below `folder`, relative to it."""
    import pygit2

    prefix = folder.relative_to(repository.root.resolve()).as_posix()
    start = "" if prefix == "." else prefix + "/"
    paths = [entry.path for entry in pygit2.Repository(str(repository.git_dir)).index]
    return [path.removeprefix(start) for path in paths if path.startswith(start)]


def _chosen(found: Detected) -> dict[str, str]:
    chosen = {"artifact.include": f"{', '.join(found.include) or 'nothing'} ({found.include_why})"}
    guesses = {
        "evaluator.function": found.function,
        "evaluator.command": found.command,
        "evaluator.python": found.python,
    }
    return chosen | {key: f"{guess.value} ({guess.why})" for key, guess in guesses.items() if guess}


def _state_of(repository: Repository) -> list[str]:
    from archives.errors import RepositoryError

    try:
        repository.resolve("HEAD")
    except RepositoryError:
        return ["there is no commit yet; make one, for a campaign starts from a commit"]
    if repository.is_dirty():
        return ["there are uncommitted changes; a campaign starts from the last commit, without them"]
    return []
