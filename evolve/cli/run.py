"""`evolve run` and `evolve resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evolve.cli.place import Place

if TYPE_CHECKING:
    from evolve.campaign import Campaign
    from evolve.engine import Ending


@click.command()
@click.pass_obj
def run(place: Place) -> int:
    """Run the campaign that evolve.toml describes; go on with it if it has begun.

    One Ctrl-C finishes what is in flight and stops; a second one stops at once. Nothing finished is lost
    either way, and `evolve run` or `evolve resume` goes on.
    """
    from evolve.campaign import prepare

    return conduct(prepare(place.start, place.campaign, place.home))


@click.command()
@click.pass_obj
def resume(place: Place) -> int:
    """Go on with a campaign that was stopped or died; with no name, the newest."""
    from evolve.campaign import reopen

    return conduct(reopen(place.start, place.campaign, place.home))


def conduct(campaign: Campaign) -> int:
    """Run a campaign in the foreground and say how it ended; returns the exit code."""
    ending = run_in_foreground(campaign)
    if ending.failed:
        click.echo(f"evolve: {ending.reason}", err=True)
        return 1
    click.echo(f"{ending.state}: {ending.reason}", err=True)
    _report(campaign)
    return 0


def run_in_foreground(campaign: Campaign) -> Ending:
    """Run a campaign and show its progress on standard error."""
    from evolve.views.progress import Progress

    progress = Progress(campaign.config.budget.limits(), campaign.config.evaluator.direction)
    click.echo(f"campaign {campaign.name} in {campaign.home}", err=True)
    try:
        return campaign.run_sync(progress)
    finally:
        progress.close()


def _report(campaign: Campaign) -> None:
    from evolve import answering
    from evolve.views.words import number

    with campaign.reader() as reader:
        found = answering.status(reader, campaign.home, None)
    if found.champion is None:
        return
    better = found.promotions > 0
    what = f"best {number(found.best_score)} (baseline {number(found.baseline_score)})"
    click.echo(f"{what}  {found.champion[:10]}" if better else f"{what}: nothing better was found")
    click.echo("next: evolve best, evolve lineage" + (", evolve export --branch NAME" if better else ""))
