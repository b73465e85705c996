"""Commands that look: read-only, whether the campaign runs, rests or died."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from archives.reader import Reader
    from evolve import answers
    from evolve.answers import Answer, Show
    from evolve.campaign import Campaign


@contextmanager
def looking(place: Place) -> Iterator[tuple[Campaign, Reader]]:
    """Open the campaign and its journal to look at them."""
    campaign = place.open()
    with campaign.reader() as reader:
        yield campaign, reader


def print_json(answer: Answer) -> None:
    """Print an answer as the one object on standard output."""
    click.echo(answer.to_json())


@click.command("list")
@json_option
@click.pass_obj
def list_(place: Place, as_json: bool) -> None:
    """List the campaigns of this repository, the newest first."""
    from evolve.answers import Campaigns
    from evolve.lookup import survey_campaigns

    sound, damaged = survey_campaigns(place.start, place.home)
    broken = [_unreadable(one.name, str(one.home), one.reason) for one in damaged]
    answer = Campaigns(campaigns=[*(_summary(one) for one in reversed(sound)), *broken])
    if as_json:
        return print_json(answer)
    from evolve.views import terminal
    from evolve.views.words import console

    return terminal.campaigns(console(), answer)


def _summary(campaign: Campaign) -> answers.Campaign:
    from archives.errors import EvolveError
    from evolve import answering

    try:
        with campaign.reader() as reader:
            return answering.campaign(reader, campaign.home, campaign.owner())
    except EvolveError as error:
        return _unreadable(campaign.name, str(campaign.home), str(error))


def _unreadable(name: str, home: str, reason: str) -> answers.Campaign:
    from evolve.answers import Campaign as Summary

    return Summary(
        campaign=name,
        state=None,
        reason=reason,
        proposals=0,
        evaluations=0,
        best_score=None,
        baseline_score=None,
        home=home,
    )


@click.command()
@click.option("--arms", is_flag=True, help="Also what each operator, model and policy has won.")
@json_option
@click.pass_obj
def status(place: Place, arms: bool, as_json: bool) -> None:
    """Show where the campaign stands: state, scores, counts, budget."""
    from evolve import answering

    with looking(place) as (campaign, reader):
        answer = answering.status(reader, campaign.home, campaign.owner())
        if arms:
            answer.arms = answering.arms(reader)
    if as_json:
        return print_json(answer)
    from evolve.views import terminal
    from evolve.views.words import console

    terminal.status(console(), answer)
    if answer.arms is not None:
        terminal.arms(console(), answer.arms)
    return None


@click.command()
@json_option
@click.pass_obj
def best(place: Place, as_json: bool) -> None:
    """Show the champion, and the candidate with the highest raw score if that is another."""
    from evolve import answering

    with looking(place) as (campaign, reader):
        answer = answering.best(reader, campaign.owner() is not None)
    _show(answer, as_json)


@click.command()
@click.argument("id")
@json_option
@click.pass_obj
def show(place: Place, id: str, as_json: bool) -> None:
    """Show one candidate: scores, cases, feedback, where it comes from, what was decided about it.

    ID is a prefix of the candidate's id or commit, or base, best or champion.
    """
    from evolve import answering

    with looking(place) as (campaign, reader):
        answer = answering.show(reader, answering.resolve(reader, id), campaign.owner() is not None)
    _show(answer, as_json)


def _show(answer: Show, as_json: bool) -> None:
    if as_json:
        return print_json(answer)
    from evolve.views import terminal
    from evolve.views.words import console

    return terminal.show(console(), answer)


@click.command()
@click.argument("old", metavar="[A]", default="base")
@click.argument("new", metavar="[B]", default="best")
@json_option
@click.pass_obj
def diff(place: Place, old: str, new: str, as_json: bool) -> None:
    """Show what differs between candidates A and B (default: base and best), as `git apply` takes it."""
    from evolve import answering

    with looking(place) as (campaign, reader):
        one, other = answering.resolve(reader, old), answering.resolve(reader, new)
        if as_json:
            return print_json(answering.diff(campaign.store, one, other))
        text = campaign.store.diff(one.id, other.id)
    if not text:
        click.echo(f"{old} and {new} are the same; name two that differ, such as base best", err=True)
    if not sys.stdout.isatty():
        return click.echo(text.encode("utf-8", "surrogateescape"), nl=False)
    from evolve.views.patches import coloured
    from evolve.views.words import console

    return console().print(coloured(text), end="", soft_wrap=True)


@click.command()
@json_option
@click.pass_obj
def archive(place: Place, as_json: bool) -> None:
    """Show the archive: the best candidates of each kind, cell by cell."""
    from evolve import answering

    with looking(place) as (campaign, reader):
        answer = answering.archive(reader, campaign.owner() is not None)
    if as_json:
        return print_json(answer)
    from evolve.views import families
    from evolve.views.words import console

    return families.archive(console(), answer)


@click.command()
@click.argument("id", required=False)
@click.option("--all", "whole", is_flag=True, help="Also candidates that lead to no elite.")
@json_option
@click.pass_obj
def lineage(place: Place, id: str | None, whole: bool, as_json: bool) -> None:
    """Show the ancestry as a tree, with the gain of each step.

    With an ID the ancestry of that candidate; else everything that led to the champion and to the elites.
    """
    from evolve import answering

    with looking(place) as (campaign, reader):
        candidate = answering.resolve(reader, id).id if id else None
        answer = answering.lineage(reader, candidate, campaign.owner() is not None)
    if as_json:
        return print_json(answer)
    from evolve.views import families
    from evolve.views.words import console

    return families.lineage(console(), answer, whole)


@click.command()
@json_option
@click.pass_obj
def champions(place: Place, as_json: bool) -> None:
    """Show each champion, the base first, and why it was promoted."""
    from evolve import answering

    with looking(place) as (_, reader):
        answer = answering.champions(reader)
    if as_json:
        return print_json(answer)
    from evolve.views import terminal
    from evolve.views.words import console

    return terminal.champions(console(), answer)


@click.command()
@click.option("--candidate", "id", metavar="ID", help="Only those of one candidate.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Only the last so many; default: 50, with --json all."
)
@json_option
@click.pass_obj
def evaluations(place: Place, id: str | None, limit: int | None, as_json: bool) -> None:
    """List the runs of the evaluator, in the order in which they finished."""
    from evolve import answering

    with looking(place) as (_, reader):
        candidate = answering.resolve(reader, id) if id else None
        answer = answering.evaluations(reader, candidate, limit or (None if as_json else 50))
    if as_json:
        return print_json(answer)
    from evolve.views import terminal
    from evolve.views.words import console

    return terminal.evaluations(console(), answer)


@click.command()
@json_option
@click.pass_obj
def costs(place: Place, as_json: bool) -> None:
    """Show what models took: calls, failures, tokens, dollars and time, by model, operator and stage."""
    from evolve import answering

    with looking(place) as (campaign, reader):
        answer = answering.costs(reader, campaign.home)
    if as_json:
        return print_json(answer)
    from evolve.views.costs import costs as show_costs
    from evolve.views.words import console

    return show_costs(console(), answer)
