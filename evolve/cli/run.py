"""`evolve run` and `evolve resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from archives.errors import CampaignBusy
from evolve.cli.place import Place

if TYPE_CHECKING:
    from evolve.campaign import Campaign
    from evolve.engine import Ending


detach_option = click.option(
    "--detach", is_flag=True, help="Run in the background; return when the campaign is on its way."
)


@click.command()
@detach_option
@click.option(
    "--from-recording",
    metavar="CAMPAIGN",
    help="Run a recorded campaign of one worker again, as another, with the replies it got; nobody is asked.",
)
@click.pass_obj
def run(place: Place, detach: bool, from_recording: str | None) -> int:
    """Run the campaign that evolve.toml describes; go on with it if it has begun.

    One Ctrl-C finishes what is in flight and stops; a second one stops at once. Nothing finished is lost
    either way, and `evolve run` or `evolve resume` goes on.
    """
    if from_recording is not None:
        from evolve.replaying import replay

        campaign = replay(place.start, from_recording, place.campaign, place.home)
    else:
        from evolve.lookup import prepare

        campaign = prepare(place.start, place.campaign, place.home)
        foretell(campaign)
    return launch(campaign) if detach else conduct(campaign)


@click.command()
@detach_option
@click.option(
    "--accept-evaluator",
    is_flag=True,
    help="Judge with the evaluator as it is now, and judge again what the earlier one said.",
)
@click.pass_obj
def resume(place: Place, detach: bool, accept_evaluator: bool) -> int:
    """Go on with a campaign that was paused, was stopped or died; with no name, the newest."""
    from evolve.lookup import reopen

    campaign = reopen(place.start, place.campaign, place.home, accept_evaluator)
    if accept_evaluator and campaign.owner() is not None:
        raise CampaignBusy("an orchestrator runs it with the old evaluator; `evolve stop` first")
    if unpause(campaign):
        return 0
    return launch(campaign) if detach else conduct(campaign)


def foretell(campaign: Campaign) -> None:
    """Say what models will be asked, before a campaign begins."""
    with campaign.reader() as reader:
        if reader.counts().proposals:
            return
    from evolve.forecast import foretold

    if (found := foretold(campaign)) is not None:
        click.echo(f"models: {found}", err=True)


def unpause(campaign: Campaign) -> bool:
    """Tell the orchestrator of a paused campaign to go on; False where none is paused."""
    from evolve.answering.campaigns import state
    from evolve.steering import ask

    pid = campaign.owner()
    with campaign.reader() as reader:
        if pid is None or state(reader, pid) != "paused":
            return False
    answer = ask(campaign, "resume")
    if answer.done:
        click.echo(f"campaign {campaign.name} (process {pid}) goes on")
    return answer.done


def launch(campaign: Campaign) -> int:
    """Run a campaign in the background and say how to follow it; returns the exit code."""
    from evolve.background import start

    started = start(campaign)
    if started.ended is not None:
        click.echo(started.ended, err=True)
        _report(campaign)
        return 0
    click.echo(f"campaign {campaign.name} runs in the background (process {started.pid})")
    if not started.judged:
        click.echo("the base is still being judged; `evolve logs -f` says what came of it", err=True)
    click.echo("next: evolve status, evolve watch, evolve logs -f, evolve wait, evolve stop")
    return 0


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
    from evolve import answering
    from evolve.views.progress import Progress

    with campaign.reader() as reader:
        progress = Progress(answering.status(reader, campaign.home, None))
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
