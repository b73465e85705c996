from __future__ import annotations

from pathlib import Path

import click
import pytest

from evolve.cli import COMMANDS, cli

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    start = TEXT.index(f"### `evolve {name}")
    end = TEXT.find("\n### ", start)
    return TEXT[start : end if end > 0 else None]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            about = section(name) + TEXT[: TEXT.index("## Start")]
            assert any(f"`{option}" in about for option in parameter.opts), parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_one_line_help_is_one_line(name: str) -> None:
    assert len(COMMANDS[name].help) <= 60
    assert COMMANDS[name].help.endswith(".")


def test_every_schema_is_linked() -> None:
    schemas = Path(__file__).resolve().parents[2] / "docs" / "schemas"
    assert all(f"schemas/{path.name}" in TEXT for path in schemas.glob("*.json"))
