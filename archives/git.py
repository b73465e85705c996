"""Runs git so that nothing of a user's configuration takes part.

A repository can name programs in many places: hooks, filters, monitors, external diffs, pagers,
transports that a partial clone starts by itself. A caller's environment can redirect git to another
repository or index. So each call starts from an environment without any ``GIT_*``, without system and
global configuration, with hooks, monitors and transports switched off on top of what the repository
says. Filters have names of their own and are switched off by name, see `Repository.is_dirty`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from archives.errors import EvolveError

_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_AUTHOR_NAME": "Evolve",
    "GIT_AUTHOR_EMAIL": "evolve@localhost",
    "GIT_COMMITTER_NAME": "Evolve",
    "GIT_COMMITTER_EMAIL": "evolve@localhost",
}

_CONFIG = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": os.devnull,
    "core.quotePath": "false",
    "core.pager": "cat",
    "core.filesRefLockTimeout": "5000",
    "core.packedRefsTimeout": "5000",
    "safe.directory": "*",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


class GitError(EvolveError):
    """A git command failed; the message is git's own reason in one line."""

    def __init__(self, command: str, complaint: bytes, code: int) -> None:
        lines = [line.strip() for line in complaint.decode("utf-8", "replace").splitlines() if line.strip()]
        self.complaints = [line for line in lines if line.startswith(("error", "fatal", "missing", "broken"))]
        self.code = code
        told = (self.complaints or lines or [f"git {command} failed without a word"])[0]
        super().__init__(told.removeprefix("error: ").removeprefix("fatal: "))


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one repository.

    Attributes:
        git_dir: Value of ``GIT_DIR``.
        work_tree: Value of ``GIT_WORK_TREE``, for repositories that have one.
        config: Further configuration, stronger than the repository's own.
    """

    git_dir: Path
    work_tree: Path | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        hold: Sequence[int] = (),
    ) -> bytes:
        """Runs a git command to its end and returns its standard output.

        Args:
            *arguments: The command and its arguments, without the leading "git".
            stdin: What it reads.
            variables: Further environment variables.
            hold: Descriptors it shall hold open as long as it lives, so that a lock outlives a killed caller.

        Raises:
            GitError: It ended with anything but 0.
        """
        process = self._start(arguments, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE, variables, hold)
        with process:
            try:
                output, errors = process.communicate(stdin)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise GitError(arguments[0], errors + output, process.returncode)
        return output

    def lines(self, *arguments: str, stdin: bytes = b"") -> list[str]:
        """Runs a git command and returns its output as lines."""
        return text(self.run(*arguments, stdin=stdin)).splitlines()

    def _start(
        self,
        arguments: Sequence[str],
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        variables: Mapping[str, str] | None = None,
        hold: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        environment = environ(self.config)
        environment["GIT_DIR"] = os.fspath(self.git_dir)
        if self.work_tree is not None:
            environment["GIT_WORK_TREE"] = os.fspath(self.work_tree)
        environment.update(variables or {})
        return start(arguments, environment, self.work_tree or self.git_dir, stdin, stdout, stderr, hold)


def environ(config: Mapping[str, str] | None = None) -> dict[str, str]:
    """The scrubbed environment: nothing of the caller's ``GIT_*``, nothing of the user's configuration."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment.update(_ENVIRONMENT)
    pairs = {**_CONFIG, **(config or {})}
    environment["GIT_CONFIG_COUNT"] = str(len(pairs))
    for index, (key, value) in enumerate(pairs.items()):
        environment[f"GIT_CONFIG_KEY_{index}"] = key
        environment[f"GIT_CONFIG_VALUE_{index}"] = value
    return environment


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    stdin: int | IO[bytes],
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    hold: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts git in a session of its own, so that a Ctrl-C at the terminal does not break off its writing."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            env=environment,
            cwd=folder,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(hold),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if error.filename == "git":
            raise EvolveError("git was not found on PATH; install git 2.31 or later") from None
        raise EvolveError(f"{error.filename} does not exist") from None


def copy_objects(source: Git, target: Git, names: bytes, hold: Sequence[int] = ()) -> None:
    """Copies objects from one repository to another as one pack, without fetch, remotes or hooks.

    Args:
        source: Where they are.
        target: Where they go.
        names: Lines of object names, a path may follow, as ``git rev-list --objects`` prints them.
        hold: Descriptors that the writing process shall hold open.

    Raises:
        GitError: An object is missing, or the pack could not be written.
    """
    pack = ("pack-objects", "-q", "--stdout", "--delta-base-offset")
    with tempfile.TemporaryFile() as listing, tempfile.TemporaryFile() as complaints:
        listing.write(names)
        listing.seek(0)
        packer = source._start(pack, listing, subprocess.PIPE, complaints)
        assert packer.stdout is not None
        index, nowhere, pipe = ("index-pack", "--stdin"), subprocess.DEVNULL, subprocess.PIPE
        indexer = target._start(index, packer.stdout, nowhere, pipe, hold=hold)
        packer.stdout.close()
        with packer, indexer:
            try:
                _, errors = indexer.communicate()
                packer.wait()
            except BaseException:
                packer.kill()
                indexer.kill()
                raise
        if packer.returncode != 0:
            complaints.seek(0)
            raise GitError(pack[0], complaints.read(), packer.returncode)
        if indexer.returncode != 0:
            raise GitError("index-pack", errors, indexer.returncode)


def discover(folder: Path, *arguments: str) -> str:
    """Runs a git command that finds its repository by itself, from a folder upwards.

    Raises:
        GitError: It ended with anything but 0.
    """
    with start(arguments, environ(), folder, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE) as process:
        output, errors = process.communicate()
    if process.returncode != 0:
        raise GitError(arguments[0], errors, process.returncode)
    return text(output)


def text(output: bytes) -> str:
    """Git's output as text; bytes that are not UTF-8, as names may have, survive a round trip."""
    return output.decode("utf-8", "surrogateescape")
