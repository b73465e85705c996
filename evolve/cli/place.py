"""Which campaign a command is about: the options every command has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from evolve.campaign import Campaign

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Place:
    """Where the command line looks for its campaign.

    Attributes:
        folder: A folder in the target repository; the current one if None.
        campaign: Name of the campaign; the newest if None.
        home: Folder that holds the campaigns; inside the repository's `.git` if None.
    """

    folder: Path | None = None
    campaign: str | None = None
    home: Path | None = None

    @property
    def start(self) -> Path:
        """The folder from which the repository is looked for."""
        return self.folder or Path.cwd()

    def open(self) -> Campaign:
        """Open the campaign.

        Raises:
            EvolveError: There is none.
        """
        from evolve.lookup import open_campaign

        return open_campaign(self.start, self.campaign, self.home)


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    place = ctx.ensure_object(Place)
    if value is not None:
        setattr(place, str(parameter.name), value)
    return value


def place_options(envvar: bool = False) -> list[click.Option]:
    """The options `--campaign`, `--home` and `-C`, which write into the context's `Place`.

    They stand before the name of a command or after it; after it wins. Only the ones before it read the
    environment, so that a variable never outdoes an option.
    """
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    home = click.Path(file_okay=False, path_type=Path)
    rest: dict[str, Any] = {"expose_value": False, "callback": _remember}
    return [
        click.Option(["--campaign"], metavar="NAME", help="The campaign; default: the newest.", **rest),
        click.Option(
            ["--home"],
            type=home,
            metavar="DIR",
            envvar="EVOLVE_HOME" if envvar else None,
            help="Folder of the campaigns (EVOLVE_HOME); default: inside .git.",
            **rest,
        ),
        click.Option(["-C", "folder"], type=folder, metavar="DIR", help="Work as if started in DIR.", **rest),
    ]


def json_option(command: Command) -> Command:
    """Add `--json`, handed over as `as_json`."""
    option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    return option(command)
