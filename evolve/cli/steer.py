"""`evolve wait`, `stop`, `pause` and `budget`."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from archives.errors import ConfigError, EvolveError
from evolve.cli.inspect import print_json
from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from evolve.answers import State
    from evolve.background import Rest
    from evolve.campaign import Campaign
    from evolve.inbox import Answer

AT_ONCE = 30.0
"""Seconds within which an orchestrator that was told to stop at once must be gone."""


@click.command()
@click.option("--timeout", metavar="TIME", help='Give up after so long, such as "90s" or "2h"; exit 1.')
@click.option("--then", "success", metavar="CMD", help="Run a shell command when it has ended well.")
@click.option("--on-failure", "failure", metavar="CMD", help="Run a shell command when it failed or died.")
@json_option
@click.pass_obj
def wait(place: Place, timeout: str | None, success: str | None, failure: str | None, as_json: bool) -> int:
    """Wait until no orchestrator runs the campaign; exit 0 if it ended well, 1 if it failed or died.

    The commands find what they need in EVOLVE_CAMPAIGN, EVOLVE_STATE, EVOLVE_REASON, EVOLVE_FOLDER,
    EVOLVE_CHAMPION, EVOLVE_BEST_SCORE and EVOLVE_BASELINE_SCORE. One that fails makes the exit code 1.
    """
    from evolve import background
    from evolve.answers import Waited

    campaign = place.open()
    rest = background.wait(campaign, None if timeout is None else _seconds(timeout))
    if as_json:
        print_json(
            Waited(
                campaign=campaign.name,
                state=rest.state,
                reason=rest.reason,
                failed=rest.failed,
                over=rest.over,
            )
        )
    elif rest.over:
        click.echo(f"{rest.state}: {rest.reason}" if rest.reason else rest.state)
    else:
        click.echo(f"evolve: {rest.state} still, after {timeout}", err=True)
    if not rest.over:
        return 1
    command = failure if rest.failed else success
    fine = command is None or _run(command, campaign, rest)
    return int(rest.failed or not fine)


def _seconds(text: str) -> float:
    from pydantic import TypeAdapter, ValidationError

    from evolve.tables.base import Seconds

    try:
        return TypeAdapter(Seconds).validate_python(text)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{text!r} is no time: {message}") from None


def _run(command: str, campaign: Campaign, rest: Rest) -> bool:
    done = subprocess.run(["/bin/sh", "-c", command], env=os.environ | _facts(campaign, rest), check=False)
    if done.returncode:
        click.echo(f"evolve: the command ended with exit code {done.returncode}: {command}", err=True)
    return done.returncode == 0


def _facts(campaign: Campaign, rest: Rest) -> dict[str, str]:
    from evolve import answering

    with campaign.reader() as reader:
        champion = reader.champion()
        best = champion and reader.candidate(champion.candidate)
        found = answering.campaign(reader, campaign.home, None)
    facts = {
        "CAMPAIGN": campaign.name,
        "STATE": rest.state,
        "REASON": rest.reason,
        "FOLDER": str(campaign.home),
        "CHAMPION": best.commit if best else "",
        "BEST_SCORE": "" if found.best_score is None else repr(found.best_score),
        "BASELINE_SCORE": "" if found.baseline_score is None else repr(found.baseline_score),
    }
    return {f"EVOLVE_{name}": value.replace("\0", "") for name, value in facts.items()}


@click.command()
@click.option("--now", is_flag=True, help="Give up what is in flight instead of finishing it.")
@json_option
@click.pass_obj
def stop(place: Place, now: bool, as_json: bool) -> int:
    """End the run: propose nothing new, finish what is in flight. Returns when the orchestrator has heard it.

    With --now, returns when it has ended. Nothing that finished is lost either way.
    """
    from evolve.steering import ask

    campaign = place.open()
    alive = campaign.owner() is not None
    answer = ask(campaign, "stop", now=now)
    if now and alive and answer.done:
        _await_end(campaign)
    return _tell(campaign, answer, as_json)


def _await_end(campaign: Campaign) -> None:
    deadline = time.monotonic() + AT_ONCE
    while (pid := campaign.owner()) is not None:
        if time.monotonic() > deadline:
            raise EvolveError(
                f"process {pid} does not end; `kill -9 {pid}` ends it, and loses nothing finished"
            )
        time.sleep(0.05)


@click.command()
@json_option
@click.pass_obj
def pause(place: Place, as_json: bool) -> int:
    """Propose nothing new until `evolve resume`; what is in flight is finished. The orchestrator stays."""
    from evolve.steering import ask

    campaign = place.open()
    return _tell(campaign, ask(campaign, "pause"), as_json)


@click.command()
@click.argument("candidate", metavar="ID")
@json_option
@click.pass_obj
def reevaluate(place: Place, candidate: str, as_json: bool) -> int:
    """Judge a candidate once more, under a seed of its own; its score is the mean of all looks.

    A campaign that runs does it at once, one that rests when it goes on. It counts against the budget.
    """
    from evolve.answering import resolve
    from evolve.steering import ask

    campaign = place.open()
    with campaign.reader() as reader:
        id = resolve(reader, candidate).id
    return _tell(campaign, ask(campaign, "reevaluate", candidate=id), as_json)


def _tell(campaign: Campaign, answer: Answer, as_json: bool) -> int:
    from evolve.answers import Steered

    pid = campaign.owner()
    if as_json:
        state = _state(campaign, pid)
        print_json(Steered(campaign=campaign.name, done=answer.done, text=answer.text, state=state, pid=pid))
    elif answer.done:
        click.echo(f"campaign {campaign.name}: {answer.text}")
    if not answer.done and not as_json:
        raise EvolveError(f"campaign {campaign.name}: {answer.text}")
    return int(not answer.done)


def _state(campaign: Campaign, pid: int | None) -> State:
    from evolve.answering.campaigns import state

    with campaign.reader() as reader:
        return state(reader, pid)


@click.command()
@click.argument("words", nargs=-1, metavar="[add NAME=AMOUNT ...]")
@json_option
@click.pass_obj
def budget(place: Place, words: tuple[str, ...], as_json: bool) -> int:
    """Show the budget, or add to it: `evolve budget add proposals=200 evaluations=50 wall=1h`.

    A run that goes on has it at once; one that is finished goes on with `evolve resume`. What was added is
    kept with the campaign and holds beside the limits of evolve.toml.
    """
    more = _amounts(words)
    campaign = place.open()
    said = ""
    if more:
        from evolve.steering import ask

        answer = ask(campaign, "budget", **more)
        if not answer.done:
            raise ConfigError(answer.text)
        said = answer.text
    _show_budget(campaign, said, as_json)
    return 0


def _amounts(words: Sequence[str]) -> dict[str, float]:
    """What is to be added, from the words after `budget`."""
    from evolve.steering import unsound

    if not words:
        return {}
    if words[0] != "add" or len(words) == 1:
        raise click.UsageError("say what to add, such as `evolve budget add proposals=200 wall=1h`")
    more: dict[str, float] = {}
    for word in words[1:]:
        name, sign, amount = word.partition("=")
        if not sign:
            raise click.UsageError(f"{word}: give it as NAME=AMOUNT, such as proposals=200")
        more[name] = more.get(name, 0) + _amount(name, amount)
    if fault := unsound(more):
        raise ConfigError(fault)
    return more


def _amount(name: str, text: str) -> float:
    if name == "wall":
        return _seconds(text)
    try:
        value = float(text)
    except ValueError:
        raise ConfigError(f"{name}={text}: {text!r} is no number") from None
    return int(value) if value.is_integer() else value


def _show_budget(campaign: Campaign, said: str, as_json: bool) -> None:
    from evolve import answering

    with campaign.reader() as reader:
        answer = answering.spending(reader, campaign.home, campaign.owner(), said)
    if as_json:
        return print_json(answer)
    from evolve.views.watching import budget
    from evolve.views.words import console

    if said:
        click.echo(said, err=True)
    return budget(console(), answer)
