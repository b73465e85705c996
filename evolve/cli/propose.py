"""`evolve propose`: candidates from people and other programs."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, BinaryIO

import click

from archives.errors import ConfigError, EvolveError
from evolve.cli.inspect import print_json
from evolve.cli.place import Place, json_option

if TYPE_CHECKING:
    from archives.reader import Reader
    from archives.records import Proposal
    from evolve.campaign import Campaign
    from evolve.inbox import Answer


@click.command()
@click.option(
    "--patch", type=click.File("rb"), metavar="FILE", help="Hand in a Git diff; - is standard input."
)
@click.option("--reply", type=click.File("rb"), metavar="FILE", help="Hand in edits as a model writes them.")
@click.option("--prompt", is_flag=True, help="Print what a model would be asked, and hand in nothing.")
@click.option("--parent", default="best", metavar="ID", help="The candidate it changes; default: best.")
@click.option("--message", default="", metavar="TEXT", help="One line of what was changed.")
@click.option("--wait", is_flag=True, help="Return when it is judged; exit 1 if it led to no candidate.")
@json_option
@click.pass_obj
def propose(
    place: Place,
    patch: BinaryIO | None,
    reply: BinaryIO | None,
    prompt: bool,
    parent: str,
    message: str,
    wait: bool,
    as_json: bool,
) -> int:
    """Hand in a change as a proposal; it is judged, archived and challenged like any other.

    A living orchestrator takes it up next, otherwise the next `evolve resume` does. What `--prompt` prints
    can be put to whoever you like; hand in the answer with `--reply FILE --parent ID`.
    """
    from evolve.answering import resolve
    from evolve.steering import ask
    from evolve.submission import LARGEST

    if (patch is not None) + (reply is not None) + prompt != 1:
        raise click.UsageError("give one of --patch FILE, --reply FILE and --prompt")
    if prompt and as_json:
        raise click.UsageError("--prompt prints a text: leave out --json")
    if prompt:
        return _ask(place, parent)
    file, kind = (patch, "patch") if patch is not None else (reply, "reply")
    assert file is not None  # one of the three is given
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ConfigError(f"{file.name} is larger than {LARGEST >> 20} MiB; hand in a smaller change")
    campaign = place.open()
    with campaign.reader() as reader:
        candidate = resolve(reader, parent).id
    encoded = base64.b64encode(content).decode("ascii")
    answer = ask(campaign, "propose", kind=kind, content=encoded, parent=candidate, summary=message)
    return _tell(campaign, answer, wait, as_json)


def _tell(campaign: Campaign, answer: Answer, wait: bool, as_json: bool) -> int:
    from evolve.submission import await_end

    number = answer.data.get("proposal") if answer.done else None
    ended = await_end(campaign, number) if wait and number is not None else None
    if as_json:
        _print(campaign, answer, number, ended)
    elif not answer.done:
        raise EvolveError(f"campaign {campaign.name}: {answer.text}")
    else:
        click.echo(f"campaign {campaign.name}: {_words(campaign, number, ended) if ended else answer.text}")
    led = ended is None or ended.outcome in ("candidate", "duplicate")
    return int(not answer.done or (wait and not led))


def _words(campaign: Campaign, number: int | None, ended: Proposal) -> str:
    from evolve.answering import show

    if ended.state != "done":
        return f"proposal {number} is not judged yet, and no orchestrator lives; `evolve resume` judges it"
    if ended.candidate and ended.outcome == "candidate":
        with campaign.reader() as reader:
            found = reader.candidate(ended.candidate)
            said = None if found is None else show(reader, found)
        verdict = "not judged" if said is None or said.verdict is None else said.verdict
        result = verdict if said is None or said.score is None else f"score {said.score:.7g}"
        why = f": {said.reason}" if said is not None and said.reason else ""
        return f"proposal {number} is candidate {ended.candidate[:10]}, {result}{why}"
    return f"proposal {number}: {ended.outcome}: {ended.reason}"


def _print(campaign: Campaign, answer: Answer, number: int | None, ended: Proposal | None) -> None:
    from evolve.answering.campaigns import state
    from evolve.answers import Proposed

    pid = campaign.owner()
    with campaign.reader() as reader:
        print_json(
            Proposed(
                campaign=campaign.name,
                done=answer.done,
                text=answer.text,
                state=state(reader, pid),
                pid=pid,
                proposal=number,
                outcome=ended.outcome if ended else None,
                reason=ended.reason if ended else None,
                candidate=ended.candidate if ended else None,
                score=_score(reader, ended.candidate if ended else None),
            )
        )


def _score(reader: Reader, id: str | None) -> float | None:
    from evolve.answering import show

    candidate = reader.candidate(id) if id else None
    return show(reader, candidate).score if candidate else None


def _ask(place: Place, parent: str) -> int:
    """Print the prompt for a parent."""
    from evolve.answering import resolve
    from evolve.byhand import prompt_for

    campaign = place.open()
    with campaign.reader() as reader:
        candidate = resolve(reader, parent)
        found = prompt_for(campaign, reader, candidate)
    click.echo("\n\n".join(message["content"].strip() for message in found.messages))
    click.echo(f"hand in the answer: evolve propose --reply FILE --parent {candidate.id[:10]}", err=True)
    return 0
