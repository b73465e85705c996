"""`evolve lessons`: what the campaign has learned, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from archives.errors import EvolveError
from evolve.cli.inspect import looking, print_json
from evolve.cli.place import Place, json_option

ACTIONS = ("forget", "pin", "unpin")


@click.command()
@click.argument("words", nargs=-1, metavar="[show ID | forget ID | pin ID | unpin ID]")
@click.option("--source", type=int, metavar="ID", help="With forget: all learned from an evaluation.")
@click.option("--all", "everything", is_flag=True, help="Show forgotten ones too.")
@json_option
@click.pass_obj
def lessons(
    place: Place, words: tuple[str, ...], source: int | None, everything: bool, as_json: bool
) -> None:
    """List the lessons, show one with its evidence, or say what to do with one.

    A forgotten lesson is in no later prompt and is not learned again; a pinned one is in every prompt.
    """
    action, ids = _read(words, source)
    if action in ACTIONS:
        from evolve.steering import ask

        campaign = place.open()
        answer = ask(campaign, "lessons", do=action, ids=ids, source=source)
        if not answer.done:
            raise EvolveError(f"campaign {campaign.name}: {answer.text}")
        click.echo(f"campaign {campaign.name}: {answer.text}", err=True)
    _show(place, ids if action == "show" else [], everything, as_json)


def _read(words: Sequence[str], source: int | None) -> tuple[str, list[int]]:
    action = words[0] if words else "list"
    if action not in ("list", "show", *ACTIONS):
        raise click.UsageError(f"{action}: say show, forget, pin or unpin, and the number of a lesson")
    if source is not None and (action != "forget" or len(words) > 1):
        raise click.UsageError("--source goes with `forget` and no number")
    try:
        ids = [int(word) for word in words[1:]]
    except ValueError:
        given = " ".join(words[1:])
        raise click.UsageError(f"{given}: lessons have numbers; `evolve lessons` shows them") from None
    if action != "list" and source is None and not ids:
        raise click.UsageError(f"say which lesson to {action}; `evolve lessons` shows their numbers")
    return action, ids


def _show(place: Place, ids: Sequence[int], everything: bool, as_json: bool) -> None:
    from evolve import answering

    with looking(place) as (_, reader):
        answer = answering.lessons(reader, ids, everything)
    if as_json:
        print_json(answer)
        return
    from evolve.views.lessons import lessons as view
    from evolve.views.words import console

    view(console(), answer, bool(ids))
