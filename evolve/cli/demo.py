"""`evolve demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evolve.campaign import Campaign


@click.command()
@click.option(
    "--folder",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("evolve-demo"),
    show_default=True,
    metavar="DIR",
    help="Where to make the demo's repository.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed, instead of the one in evolve.toml.")
def demo(target: Path, seed: int | None) -> int:
    """Pack 26 circles into a square: a whole campaign in two or three minutes, with no key and no service."""
    from evolve.demo import set_up

    set_up(target)
    click.echo(
        f"26 circles in the unit square, the sum of their radii to be made large, in {target}", err=True
    )
    campaign = _campaign(target, seed)
    from evolve.cli.run import run_in_foreground

    ending = run_in_foreground(campaign)
    if ending.failed or ending.state != "finished":
        click.echo(f"{ending.state}: {ending.reason}", err=True)
        return 1 if ending.failed else 0
    _compare(campaign, target)
    return 0


def _campaign(folder: Path, seed: int | None) -> Campaign:
    from evolve import config
    from evolve.creation import create_campaign
    from evolve.lookup import list_campaigns, prepare

    if seed is None:
        return prepare(folder)
    loaded = config.load(folder / config.FILE_NAME)
    name = f"{loaded.campaign.name}-seed-{seed}"
    for known in list_campaigns(folder):
        if known.name == name:
            return known
    table = loaded.campaign.model_copy(update={"seed": seed, "name": name})
    return create_campaign(folder, loaded.model_copy(update={"campaign": table}))


def _compare(campaign: Campaign, folder: Path) -> None:
    from evolve import answering
    from evolve.demo import REFERENCE, random_restarts
    from evolve.pacing import processors
    from evolve.views import families
    from evolve.views.words import console

    with campaign.reader() as reader:
        found = answering.status(reader, campaign.home, None)
        cpu = sum(e.cpu_seconds for e in reader.evaluations())
        tree = answering.lineage(reader, found.champion)
    click.echo(f"random restarts of the same optimiser for the same {cpu:.0f} s …", err=True)
    restarts = random_restarts(folder, cpu, processors())
    click.echo()
    spent = "s of processor time"
    rows = [
        ("baseline", found.baseline_score, "the program as it was"),
        ("random restarts", restarts.score, f"best of {restarts.starts}, {restarts.cpu_seconds:.0f} {spent}"),
        ("champion", found.best_score, f"{found.promotions} accepted steps, {cpu:.0f} {spent}"),
        ("reference", REFERENCE, "AlphaEvolve, 2025"),
    ]
    for name, score, note in rows:
        click.echo(f"  {name:<16} {score:8.4f}   {note}" if score is not None else f"  {name:<16} -")
    click.echo("\nlineage of the champion:")
    families.lineage(console(), tree)
    _next(folder)


def _next(folder: Path) -> None:
    program = Path(sys.argv[0])
    here = program.is_absolute() or "/" in sys.argv[0]
    command = f"{program} -C {folder}" if here else f"evolve -C {folder}"
    click.echo("\nnext:")
    for rest, what in (
        ("best", "the champion and the evidence"),
        ("diff", "what it changed"),
        ("archive", "the different kinds of good candidates"),
        ("export --branch better", "put it into the repository"),
    ):
        click.echo(f"  {command} {rest:<24} {what}")
