"""Commands for people who write prompts: the texts that are sent, and a reply tried without a campaign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from archives.errors import ConfigError, EvolveError
from evolve.cli.inspect import print_json
from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from evolve.answers import Prompts, TriedReply
    from evolve.prompts.templates import Templates

LARGEST = 4 * 1024 * 1024
"""Bytes of a reply that may be tried."""


@click.command()
@click.argument("words", nargs=-1, metavar="[show NAME]")
@click.option(
    "--write",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Copy the texts there to change them; what exists stays.",
)
@json_option
@click.pass_obj
def prompts(place: Place, words: tuple[str, ...], write: Path | None, as_json: bool) -> None:
    """List the texts that prompts are made of, show one, or copy them to change them.

    Those in the folder that `[models] prompts` names take the place of the ones that come with Evolve.
    """
    if words and (words[0] != "show" or len(words) != 2):
        raise click.UsageError("write `evolve prompts`, or `evolve prompts show NAME`")
    templates, folder = _templates(place)
    name = words[1] if words else None
    if name is not None and name not in templates.texts:
        raise ConfigError(f"no prompt is called {name!r}; there are {', '.join(templates.texts)}")
    written = _written(templates, write) if write is not None else []
    answer = _listed(templates, folder, name, written)
    if as_json:
        return print_json(answer)
    if name is not None:
        return click.echo(templates.texts[name], nl=False)
    return _print(answer, write)


def _templates(place: Place) -> tuple[Templates, Path | None]:
    """The templates of the nearest evolve.toml; those that come with Evolve where there is none."""
    from archives.repository import Repository
    from evolve import config as configuration
    from evolve.lookup import locate
    from evolve.prompts.templates import load

    try:
        path, _ = locate(place.start, Repository.find(place.start))
    except EvolveError:
        return load(), None
    own = configuration.load(path).models.prompts
    folder = None if own is None else path.parent / own
    return load(folder), folder


def _written(templates: Templates, folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, text in templates.texts.items():
        target = folder / f"{name}.md"
        if not target.exists():
            target.write_text(text, encoding="utf-8")
            made.append(str(target))
    return made


def _listed(templates: Templates, folder: Path | None, name: str | None, written: list[str]) -> Prompts:
    from evolve.answers import Prompts, PromptText
    from evolve.prompts.templates import PLACEHOLDERS, SHARED

    wanted = templates.texts if name is None else (name,)
    return Prompts(
        folder=None if folder is None else str(folder),
        written=written,
        prompts=[
            PromptText(
                name=each,
                version=templates.version(each),
                shared=each in SHARED,
                replaced=str(templates.replaced[each]) if each in templates.replaced else None,
                placeholders=list(PLACEHOLDERS[each]),
                text=templates.texts[each],
            )
            for each in wanted
        ],
    )


def _print(answer: Prompts, write: Path | None) -> None:
    from evolve.views.terminal import columns
    from evolve.views.words import console, line

    table = columns("prompt", "version", "used by", "text", wide="text")
    for one in answer.prompts:
        used = "all" if one.shared else one.name
        table.add_row(one.name, one.version, used, line(one.replaced or "comes with Evolve"))
    console().print(table)
    if write is not None:
        click.echo(f"wrote {len(answer.written)} files to {write}; what was there stays")
        click.echo(f'next: change them, and write prompts = "{write}" under [models] of evolve.toml')
    else:
        click.echo("next: evolve prompts show NAME, evolve prompts --write FOLDER")


@click.command("try-reply")
@click.argument("file", type=click.File("rb"))
@click.option("--parent", default=None, metavar="ID", help="The candidate it was made for; default: best.")
@click.option("--finish-reason", default="stop", metavar="WORD", help="Why the model stopped, as it said.")
@json_option
@click.pass_obj
def try_reply(place: Place, file: BinaryIO, parent: str | None, finish_reason: str, as_json: bool) -> int:
    """Show what a model's reply would change, or why it is refused; nothing is added.

    FILE holds the reply; - is standard input. Without a campaign it is tried on the base that evolve.toml
    names.
    """
    from evolve.answering import resolve
    from evolve.trying import campaign_or_draft
    from evolve.trying import try_reply as tried

    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ConfigError(f"{file.name} is larger than {LARGEST >> 20} MiB; no reply is")
    with campaign_or_draft(place.start, place.campaign, place.home) as campaign, campaign.reader() as reader:
        candidate = resolve(reader, parent or "best")
        answer = tried(campaign, reader, candidate, content.decode("utf-8", "replace"), finish_reason)
    if as_json:
        print_json(answer)
    else:
        _print_tried(answer)
    return 0 if answer.usable else 1


def _print_tried(answer: TriedReply) -> None:
    from evolve.views.patches import coloured
    from evolve.views.words import block, console, line

    out = console()
    for problem in answer.problems:
        out.print(line(f"{problem.path}: {problem.reason}" if problem.path else problem.reason, limit=500))
        if problem.text:
            out.print(block(problem.text), style="dim")
    if answer.diff:
        if sys.stdout.isatty():
            out.print(coloured(answer.diff), end="", soft_wrap=True)
        else:
            click.echo(answer.diff, nl=False)
    if answer.reason:
        raise EvolveError(f"it counts as {answer.outcome}: {answer.reason}")
    click.echo(f"it would become a candidate: {answer.summary}", err=True)
