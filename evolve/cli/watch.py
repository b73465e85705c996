"""`evolve watch` and `evolve logs`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from evolve.cli.inspect import looking, print_json
from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from archives.reader import Reader
    from evolve.answering.running import Glance, Watching
    from evolve.campaign import Campaign

LIVE_EVERY = 0.5
PLAIN_EVERY = 5.0
FOLLOW_EVERY = 0.2


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on until the campaign has ended.")
@click.option(
    "-n",
    "lines",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the last N; default: 50, with --json all.",
)
@json_option
@click.pass_obj
def logs(place: Place, follow: bool, lines: int | None, as_json: bool) -> None:
    """Show what has happened, one line each: starts, requests, champions, what was given up, how it ended."""
    from evolve import answering

    if follow and as_json:
        raise click.UsageError("--follow prints lines, --json one object; give one of them")
    if as_json:
        with looking(place) as (_, reader):
            return print_json(answering.logs(reader, lines))
    with looking(place) as (campaign, reader):
        before = reader.counts().last_event
        after = _print_events(reader, max(0, before - (50 if lines is None else lines)))
        while follow and campaign.owner() is not None:
            time.sleep(FOLLOW_EVERY)
            after = _print_events(reader, after)
        if follow:
            _print_events(reader, after)
            _say_state(campaign, reader)
    return None


def _print_events(reader: Reader, after: int) -> int:
    """Print events with an id above `after`; returns the last id."""
    from evolve.answering.running import happening
    from evolve.views.watching import event

    for one in reader.events(after):
        click.echo(event(happening(one)))
        after = one.id
    return after


def _say_state(campaign: Campaign, reader: Reader) -> None:
    from evolve.answering.campaigns import state

    now = state(reader, campaign.owner())
    why = "its orchestrator died; `evolve resume` goes on" if now == "dead" else reader.setting("reason")
    click.echo(f"{now}: {why}" if why else now, err=True)


@click.command()
@click.pass_obj
def watch(place: Place) -> None:
    """Watch the campaign until it has ended: what is in flight, budget, champions, last failures.

    A live view on a terminal, else a plain line now and then. Ctrl-C ends the view, not the campaign.
    """
    from evolve.answering.running import Watching

    with looking(place) as (campaign, reader):
        watching = Watching(reader, campaign.home)
        if sys.stdout.isatty():
            _watch_live(campaign, watching)
        else:
            _watch_plainly(campaign, watching)
        if campaign.owner() is None:
            _say_state(campaign, reader)


def _watch_live(campaign: Campaign, watching: Watching) -> None:
    from rich.live import Live

    from evolve.views.watching import panel
    from evolve.views.words import console

    screen = console()
    unicode = screen.encoding.lower().startswith("utf")
    with Live(console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            glance = watching.look(campaign.owner())
            live.update(panel(glance, unicode), refresh=True)
            if glance.pid is None:
                return
            time.sleep(LIVE_EVERY)


def _watch_plainly(campaign: Campaign, watching: Watching) -> None:
    from evolve.views.watching import plain

    told: str | None = None
    while True:
        glance = watching.look(campaign.owner())
        words = plain(glance)
        if words != told:
            click.echo(f"{time.strftime('%H:%M:%S')}  {words}")
            told = words
        if glance.pid is None or _ended_within(campaign, PLAIN_EVERY):
            return _last_line(campaign, watching, told, glance)


def _ended_within(campaign: Campaign, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if campaign.owner() is None:
            return True
        time.sleep(FOLLOW_EVERY)
    return False


def _last_line(campaign: Campaign, watching: Watching, told: str | None, glance: Glance) -> None:
    from evolve.views.watching import plain

    words = plain(watching.look(campaign.owner())) if glance.pid is not None else told
    if words != told:
        click.echo(f"{time.strftime('%H:%M:%S')}  {words}")
