"""The `evolve` command.

Most of what the program can do needs libraries that take a second to import, and most calls need few of them.
So the table below names each command's home and its one-line help; a command's module is imported when that
command is called, and `evolve --help` imports none.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import click

from archives.errors import EvolveError
from evolve.cli.place import place_options


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is not imported yet."""

    target: str
    help: str
    section: str


START, LOOK, TAKE = "Start and steer", "Look", "Take and tidy"

COMMANDS: dict[str, Lazy] = {
    "demo": Lazy("evolve.cli.demo:demo", "Run a small campaign from here to a proven result.", START),
    "init": Lazy("evolve.cli.init:init", "Write a commented evolve.toml for this repository.", START),
    "check": Lazy("evolve.cli.check:check", "Try the evaluator on the base; say what a run will do.", START),
    "run": Lazy("evolve.cli.run:run", "Run the campaign, or go on with it.", START),
    "resume": Lazy("evolve.cli.run:resume", "Go on with a campaign that was stopped.", START),
    "wait": Lazy("evolve.cli.steer:wait", "Wait until the campaign has ended.", START),
    "pause": Lazy("evolve.cli.steer:pause", "Propose nothing new until `evolve resume`.", START),
    "stop": Lazy("evolve.cli.steer:stop", "Finish what is in flight and end the run.", START),
    "budget": Lazy("evolve.cli.steer:budget", "Show the budget, or add to it.", START),
    "propose": Lazy("evolve.cli.propose:propose", "Hand in a patch or a reply as a proposal.", START),
    "reevaluate": Lazy("evolve.cli.steer:reevaluate", "Judge a candidate once more.", START),
    "doctor": Lazy("evolve.cli.check:doctor", "Say what is in the way on this machine.", START),
    "list": Lazy("evolve.cli.inspect:list_", "List the campaigns of this repository.", LOOK),
    "status": Lazy("evolve.cli.inspect:status", "Show where the campaign stands.", LOOK),
    "watch": Lazy("evolve.cli.watch:watch", "Watch the campaign live.", LOOK),
    "logs": Lazy("evolve.cli.watch:logs", "Show what has happened, line by line.", LOOK),
    "best": Lazy("evolve.cli.inspect:best", "Show the champion and the evidence for it.", LOOK),
    "show": Lazy("evolve.cli.inspect:show", "Show one candidate.", LOOK),
    "diff": Lazy("evolve.cli.inspect:diff", "Show what differs between two candidates.", LOOK),
    "lineage": Lazy("evolve.cli.inspect:lineage", "Show the ancestry, with the gain of each step.", LOOK),
    "archive": Lazy("evolve.cli.inspect:archive", "Show the archive, cell by cell.", LOOK),
    "champions": Lazy("evolve.cli.inspect:champions", "Show each champion and why it was promoted.", LOOK),
    "evaluations": Lazy("evolve.cli.inspect:evaluations", "List the runs of the evaluator.", LOOK),
    "costs": Lazy("evolve.cli.inspect:costs", "Show what models took.", LOOK),
    "prompts": Lazy("evolve.cli.prompts:prompts", "Show the texts that prompts are made of.", LOOK),
    "try-reply": Lazy("evolve.cli.prompts:try_reply", "Show what a model's reply would change.", LOOK),
    "lessons": Lazy("evolve.cli.lessons:lessons", "Show, pin or forget what has been learned.", LOOK),
    "export": Lazy("evolve.cli.manage:export", "Put a candidate into a branch, or into a patch.", TAKE),
    "remove": Lazy("evolve.cli.manage:remove", "Delete a campaign and all it remembers.", TAKE),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command and give it the options that every command has."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, attribute = entry.target.split(":")
        command = cast(click.Command, getattr(importlib.import_module(module), attribute))
        known = {name for parameter in command.params for name in parameter.opts}
        command.params += [option for option in place_options() if not known & set(option.opts)]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else "see evolve --help"
            raise click.UsageError(f"there is no command '{args[0]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any of them."""
        for section in (START, LOOK, TAKE):
            rows = [(name, entry.help) for name, entry in COMMANDS.items() if entry.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)


def _say_version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("evolve-campaigns")
    except PackageNotFoundError:
        number = "(run from its source, not installed)"
    click.echo(f"evolve {number}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    params=[*place_options(envvar=True)],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command that looks takes --json. A candidate is named by a prefix of its id or commit, or "
    "by base, best or champion.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_say_version,
    help="Show the version.",
)
def cli() -> None:
    """Search for a better version of a repository, and prove that it is better."""


def _fail(error: BaseException, message: str, code: int) -> int:
    """Tell the user in one line, or with everything when EVOLVE_DEBUG is set."""
    if os.environ.get("EVOLVE_DEBUG"):
        raise error
    click.echo(f"evolve: {message}", err=True)
    return code


def _one_line(text: str) -> str:
    """Join the lines of `text` and drop what a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result: Any = cli.main(args=arguments, prog_name="evolve", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        return _fail(error, _one_line(error.format_message()).rstrip(".") + where, 2)
    except click.ClickException as error:
        return _fail(error, _one_line(error.format_message()), error.exit_code)
    except EvolveError as error:
        return _fail(error, _one_line(str(error)), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - nobody reads us; the exit must not try again
        return 1
    except OSError as error:
        return _fail(error, _one_line(f"{error.filename or 'the system'}: {error.strerror or error}"), 1)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code.

    Exit codes: 0 success, 1 failure, 2 usage or configuration, 3 another orchestrator owns the campaign, 130
    interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
    sys.exit(_run(arguments))
