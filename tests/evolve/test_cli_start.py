from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from handmade import Ran, handmade, make_repository
from handmade import evolve as evolve_command

import evolve.cli
from archives.errors import CampaignBusy, ConfigError, EvolveError
from evolve.cli import COMMANDS, cli
from evolve.cli.place import Place

HEAVY = """pydantic litellm scipy networkx numpy trio pygit2 git rich libcst cmaes
    sqlite_utils""".split()  # noqa: SIM905 - a list of twelve lines says no more
Capture = pytest.CaptureFixture[str]
LOOKING = [
    "list",
    "status",
    "best",
    "show",
    "diff",
    "lineage",
    "archive",
    "champions",
    "evaluations",
    "costs",
]


def python(*arguments: str, cwd: Path | None = None) -> Ran:
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, timeout=60)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_help_imports_no_heavy_library() -> None:
    code = f"""
import sys
from evolve.cli import main
try:
    main(["--help"])
except SystemExit as left:
    assert left.code == 0, left.code
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    ran = python("-c", code)
    assert ran.err.strip() == "[]"


def test_help_names_every_command(capsys: Capture) -> None:
    ran = evolve_command(capsys, "--help")
    assert ran.code == 0
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)


@pytest.mark.parametrize("name", LOOKING)
def test_commands_that_look_take_json_and_the_common_options(capsys: Capture, name: str) -> None:
    ran = evolve_command(capsys, name, "--help")
    assert ran.code == 0
    assert all(option in ran.out for option in ("--json", "--campaign", "--home", "-C"))


def test_a_misspelt_command_names_the_nearest_one(capsys: Capture) -> None:
    ran = evolve_command(capsys, "stauts")
    assert ran.code == 2
    assert ran.err.startswith("evolve: there is no command 'stauts'; did you mean 'status'?")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("arguments", ["status --nonsense", "show", "-C /no/such/folder status"])
def test_wrong_usage_is_one_line_and_exit_2(capsys: Capture, arguments: str) -> None:
    ran = evolve_command(capsys, *arguments.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("evolve: ")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (EvolveError("it\nbroke \x1b[31m"), 1, "evolve: it broke [31m\n"),
        (ConfigError("wrong"), 2, "evolve: wrong\n"),
        (CampaignBusy("busy"), 3, "evolve: busy\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
        (OSError(28, "No space left on device", "/a/b"), 1, "evolve: /a/b: No space left on device\n"),
    ],
)
def test_each_error_is_one_line_with_its_exit_code(
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    says: str,
) -> None:
    monkeypatch.delenv("EVOLVE_DEBUG", raising=False)
    monkeypatch.setattr(evolve.cli.place.Place, "open", lambda place: throw(error))
    ran = evolve_command(capsys, "status")
    assert (ran.code, ran.err.lstrip("\n")) == (code, says)


def throw(error: BaseException) -> None:
    raise error


def test_common_options_stand_before_or_after_the_command_and_after_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    seen: list[Place] = []

    def remember(place: Place) -> None:
        seen.append(place)
        raise EvolveError("seen")

    monkeypatch.setattr(evolve.cli.place.Place, "open", remember)
    monkeypatch.setenv("EVOLVE_HOME", str(tmp_path / "environment"))
    evolve_command(capsys, "status")
    evolve_command(capsys, "--campaign", "a", "--home", tmp_path / "one", "-C", tmp_path, "status")
    evolve_command(capsys, "--campaign", "a", "status", "--campaign", "b", "--home", tmp_path / "two")
    assert [(place.campaign, place.home, place.folder) for place in seen] == [
        (None, tmp_path / "environment", None),
        ("a", tmp_path / "one", tmp_path),
        ("b", tmp_path / "two", None),
    ]


def test_outside_a_repository_one_line_says_so(tmp_path: Path, capsys: Capture) -> None:
    ran = evolve_command(capsys, "-C", tmp_path, "status")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)


def test_without_a_campaign_one_line_says_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    make_repository(tmp_path / "r", {"a.py": "1\n"})
    ran = evolve_command(capsys, "-C", tmp_path / "r", "best", "--json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "evolve run" in ran.err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    made = handmade(tmp_path)
    for number in range(300):
        made.judge("base", float(number))
    made.write()
    command = f"{sys.executable} -m evolve -C {made.root} evaluations --json | head -c 1 >/dev/null"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""


def test_version_is_the_distributions(capsys: Capture) -> None:
    ran = evolve_command(capsys, "--version")
    assert (ran.code, ran.out.split()[0]) == (0, "evolve")


def test_every_command_that_is_installed_has_the_help_the_table_gives() -> None:
    context = click.Context(cli)
    assert cli.list_commands(context) == list(COMMANDS)
    for name in ("list", "status", "init", "export"):
        command = cli.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_a_terminal_that_cannot_say_a_letter_gets_its_code(tmp_path: Path) -> None:
    made = handmade(tmp_path)
    made.add("c1", 2.0, summary="größer")
    made.write()
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "evolve", "-C", str(made.root), "show", made.ids["c1"]]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "gr\\xf6\\xdfer" in ran.stdout
