"""`evolve check` and `evolve doctor`."""

from __future__ import annotations

import click

from evolve.cli.place import Place, json_option


@click.command()
@click.option("--models", is_flag=True, help="Also send one tiny request to each model.")
@json_option
@click.pass_obj
def check(place: Place, as_json: bool, models: bool) -> int:
    """Judge the base a few times; report score, noise, time, sandbox, operators, costs, and what may break.

    Exit 0 if a run could begin: the base was judged, nothing that looks like a secret would be sent and,
    with --models, each model answered; else 1. Nothing is kept.
    """
    from evolve.checking import check as try_base
    from evolve.cli.inspect import print_json
    from evolve.views.checks import show_check

    answer, words = try_base(place.start, models, place.home)
    if as_json:
        print_json(answer)
    else:
        show_check(answer, words)
    sound = answer.verdict == "judged" and not answer.secrets
    return 0 if sound and all(each.ok for each in answer.models) else 1


@click.command()
@json_option
@click.pass_obj
def doctor(place: Place, as_json: bool) -> int:
    """Say what on this machine or in this repository is in the way of a campaign."""
    from evolve.checking import doctor as examine
    from evolve.cli.inspect import print_json

    answer = examine(place.start)
    if as_json:
        print_json(answer)
        return 0
    for remark in answer.findings:
        click.echo(f"{remark.kind}: {remark.text}")
    if answer.ok:
        click.echo(f"nothing is in the way; evaluations run {answer.executor}")
    return 0
