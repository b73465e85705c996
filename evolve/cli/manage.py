"""Commands that take something out of a campaign, or the campaign away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from archives.errors import CampaignBusy, EvolveError
from evolve.cli.inspect import looking, print_json
from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from archives.records import Candidate
    from archives.store import Store


@click.command()
@click.argument("id", default="best", metavar="[ID]")
@click.option("--branch", metavar="NAME", help="Write this branch of the repository, and nothing else.")
@click.option(
    "--patch", metavar="FILE", help="Write the change from the base as a patch; - is standard output."
)
@click.option("--force", is_flag=True, help="Replace a branch or file that exists.")
@json_option
@click.pass_obj
def export(place: Place, id: str, branch: str | None, patch: str | None, force: bool, as_json: bool) -> None:
    """Put a candidate (default: the champion) into the repository as a branch, or into a patch file."""
    from evolve import answering, answers

    if (branch is None) == (patch is None):
        raise click.UsageError("say where to: --branch NAME or --patch FILE, one of them")
    if patch == "-" and as_json:
        raise click.UsageError("--patch - and --json both want standard output")
    with looking(place) as (campaign, reader):
        candidate, base = answering.resolve(reader, id), answering.resolve(reader, "base")
        if branch is not None:
            campaign.repository.export_branch(campaign.store, candidate.commit, branch, force)
        elif patch is not None:
            _write_patch(campaign.store, base, candidate, patch, force)
    if as_json:
        commit = candidate.commit
        print_json(answers.Export(candidate=candidate.id, commit=commit, branch=branch, patch=patch))
    elif patch != "-":
        click.echo(_told(candidate, base, branch, patch))


def _told(candidate: Candidate, base: Candidate, branch: str | None, patch: str | None) -> str:
    same = " (that is the base, unchanged)" if candidate.id == base.id else ""
    if branch is not None:
        return f"branch {branch} is at {candidate.commit[:12]}{same}; see `git diff HEAD...{branch}`"
    return f"wrote {patch}; `git apply {patch}` applies it"


def _write_patch(store: Store, base: Candidate, candidate: Candidate, target: str, force: bool) -> None:
    if candidate.id == base.id:
        raise EvolveError("the candidate is the base itself: there is no change to export")
    data = store.diff(base.id, candidate.id).encode("utf-8", "surrogateescape")
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        with Path(target).open("wb" if force else "xb") as file:
            file.write(data)
    except FileExistsError:
        raise EvolveError(f"{target} exists; give --force to replace it") from None


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def remove(place: Place, yes: bool, as_json: bool) -> None:
    """Delete a campaign: its journal, its store, everything it made. Exported branches stay."""
    from evolve import answers
    from evolve.lookup import layout_of
    from evolve.ownership import owner
    from evolve.removal import remove_tree

    campaign = layout_of(place.start, place.campaign, place.home)
    if owner(campaign.lock) is not None:
        raise CampaignBusy(
            f"campaign {campaign.name} is running; stop it first (`evolve stop`, then `evolve wait`)"
        )
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise click.UsageError(f"removing {campaign.name} cannot be undone; confirm it with --yes")
        click.confirm(f"Delete campaign {campaign.name} in {campaign.home}?", abort=True, err=True)
    remove_tree(campaign.home)
    if as_json:
        print_json(answers.Removed(campaign=campaign.name, home=str(campaign.home)))
    else:
        click.echo(f"removed campaign {campaign.name}")
