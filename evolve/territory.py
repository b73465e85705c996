"""What may change and what is protected, and whether the base holds what the campaign needs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path

from archives.errors import ConfigError
from evaluators.spec import Origin
from evolve import readymade
from evolve.config import FILE_NAME, Config
from evolve.foreign import files as foreign_files
from evolve.foreign import foreign
from evolve.globs import matcher


def evaluator_files(config: Config, paths: Iterable[str], prefix: str = "") -> tuple[str, ...]:
    """Files of the repository that the evaluator's command or function names."""
    known = set(paths)
    named = [prefix + word.removeprefix("./") for word in evaluator_words(config)]
    return tuple(path for path in named if path in known)


def evaluator_words(config: Config) -> list[str]:
    """What of the evaluator's command, function or contract may be a path."""
    if config.evaluator.contract is not None:
        return list(foreign_files(config))
    if config.evaluator.function is not None:
        return [config.evaluator.function.rsplit(":", 1)[0]]
    if config.evaluator.command is None:
        return readymade.words(config.evaluator)
    try:
        return shlex.split(config.evaluator.command or "")
    except ValueError:
        return (config.evaluator.command or "").split()


def editable(config: Config, paths: Iterable[str], prefix: str = "") -> Callable[[str], bool]:
    """A test for paths that a candidate may change.

    The evaluator's own files, the holdout and the configuration stay protected even where a wide glob of
    `artifact.include` covers them.

    Args:
        config: The campaign's configuration.
        paths: All paths of the base.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
    """
    included = matcher(config.artifact.include, prefix)
    hidden = matcher(config.holdout.files, prefix)
    protected = {*evaluator_files(config, paths, prefix), prefix + FILE_NAME}
    of_suite = readymade.protects(config.evaluator, prefix)
    return lambda path: included(path) and path not in protected and not hidden(path) and not of_suite(path)


def origin(config: Config, paths: Iterable[str], prefix: str = "") -> Callable[[str], Origin]:
    """A test for who answers for a path of a candidate's checkout; the arguments are those of `editable`."""
    base = frozenset(paths)
    may_change = editable(config, base, prefix)
    return lambda path: "protected" if not may_change(path) else "editable" if path in base else "added"


def visible(config: Config, paths: Iterable[str], prefix: str = "") -> Callable[[str], bool]:
    """A test for paths that may not change, but may be named and outlined to a model.

    What judges (the evaluator's own files, the holdout, the configuration) is never shown.

    Args:
        config: The campaign's configuration.
        paths: All paths of the base.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
    """
    hidden = matcher(config.holdout.files, prefix)
    judging = {*evaluator_files(config, paths, prefix), prefix + FILE_NAME}
    return lambda path: path not in judging and not hidden(path)


def survey(config: Config, paths: list[str], prefix: str, folder: Path, base: str) -> None:
    """Check that the base holds what may change and what judges.

    Raises:
        ConfigError: It does not.
    """
    may_change = editable(config, paths, prefix)
    if not any(may_change(path) for path in paths):
        globs = ", ".join(config.artifact.include)
        included, held = matcher(config.artifact.include, prefix), matcher(config.holdout.files, prefix)
        if taken := [path for path in paths if included(path) and held(path)]:
            raise ConfigError(
                f"holdout.files: it hides {taken[0]}, and artifact.include names nothing else to change; "
                "hold out files of the evaluation, not of the artifact"
            )
        of_suite = readymade.protects(config.evaluator, prefix)
        judging = {*evaluator_files(config, paths, prefix)}
        if taken := [path for path in paths if included(path) and (path in judging or of_suite(path))]:
            raise ConfigError(
                f"artifact.include: {taken[0]} belongs to the evaluator, which never changes, and nothing "
                "else is included; include the files that it judges"
            )
        raise ConfigError(
            f"artifact.include: {globs} matches no file of commit {base[:10]}; commit the file, or "
            "correct the glob"
        )
    for glob in config.holdout.files:
        hidden = matcher([glob], prefix)
        if not any(hidden(path) for path in paths):
            raise ConfigError(f"holdout.files: {glob} matches no file of commit {base[:10]}; correct it")
        if taken := [path for path in evaluator_files(config, paths, prefix) if hidden(path)]:
            raise ConfigError(f"holdout.files: {glob} hides {taken[0]}, which the evaluator is made of")
    require_patches(config, folder)
    for missing in _not_in_base(config, paths, prefix, folder):
        there = (folder / missing).exists()
        raise ConfigError(
            f"evaluator: {missing} is not in commit {base[:10]}, from which candidates are made; "
            + (f"add it first: git add {shlex.quote(missing)} && git commit" if there else _nowhere(folder))
        )


def require_patches(config: Config, folder: Path) -> None:
    """Check that the folder of ready-made patches is there, before anything is judged.

    Raises:
        ConfigError: It is not.
    """
    patches = config.operators.patches
    if patches is not None and patches.folder is not None and not (folder / patches.folder).is_dir():
        raise ConfigError(
            f"operators.patches.folder: {folder / patches.folder} is no folder; make it, or correct the name"
        )


def _nowhere(folder: Path) -> str:
    return f"nor is it in {folder}: correct the name in {FILE_NAME}, or write it and commit"


def _not_in_base(config: Config, paths: list[str], prefix: str, folder: Path) -> list[str]:
    known = set(paths)
    if config.evaluator.contract is not None:
        return [
            name for name in (*foreign_files(config), *_handed_over(config)) if prefix + name not in known
        ]
    if config.evaluator.function is not None:
        name = config.evaluator.function.rsplit(":", 1)[0]
        return [] if prefix + name in known else [name]
    if config.evaluator.command is None:
        words = [w.removeprefix("./").rstrip("/") for w in readymade.words(config.evaluator)]
        named = [w for w in words if w[:1] != "-"]
        gone = [w for w in named if not any(p == prefix + w or p.startswith(prefix + w + "/") for p in known)]
        suite = config.evaluator.pytest is not None
        # Behind an option a word may be its value, and no path.
        paths_for_sure = set(takewhile(lambda w: w[:1] != "-", words)) if suite else set()
        return [
            w for w in gone if w.endswith(".py") or w in paths_for_sure or (suite and (folder / w).exists())
        ]
    try:
        words = shlex.split(config.evaluator.command or "")
    except ValueError as error:
        raise ConfigError(f"evaluator.command: {error}; check the quotes") from None
    data = matcher(
        [p.rstrip("/") for p in config.evaluator.data] + [f"{p.rstrip('/')}/" for p in config.evaluator.data]
    )
    scripts = [w.removeprefix("./") for w in words if w.endswith((".py", ".sh", ".js", ".rb", ".pl"))]
    return [
        w
        for w in scripts
        if not w.startswith("/") and prefix + w not in known and not data(w) and (folder / w).is_file()
    ]


def _handed_over(config: Config) -> list[str]:
    """Files of a candidate that an evaluator of another system is called with."""
    called = foreign(config)
    return (
        [] if called is None else [*called.components.values(), *([called.program] if called.program else [])]
    )
