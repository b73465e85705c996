"""Before a model is asked: what may be sent, to whom, at which price, and what is known without asking."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from archives.errors import ConfigError
from archives.reader import Reader
from archives.store import Store
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.globs import matcher
from evolve.layout import Layout
from evolve.models import Gateway, ModelSpec
from evolve.models.catalog import facts, unpriced
from evolve.models.ledger import Ledger
from evolve.models.recording import Recording
from evolve.models.secrets import Guard, Secret, keys_of, secrets_in
from evolve.models.spec import address
from evolve.models.tokens import estimate
from evolve.registry import model_pool


@dataclass(frozen=True, slots=True)
class Found:
    """What looks like a secret, and the file it stands in."""

    path: str
    secret: Secret

    def __str__(self) -> str:
        return f"{self.path}:{self.secret.line} holds what looks like {self.secret.what} ({self.secret.hint})"


@asynccontextmanager
async def gateway(
    campaign: Campaign, ledger: Ledger, reader: Reader, paths: Sequence[str]
) -> AsyncIterator[Gateway]:
    """The models of a run, after everything that must hold before anything is sent.

    Args:
        campaign: The campaign.
        ledger: Where calls are charged and kept.
        reader: Its journal.
        paths: Files of the base that may change, which prompts show.

    Raises:
        ConfigError: A price that a budget needs is not known, a file holds what looks like a secret, or the
            recording cannot be read.
    """
    config, pool = campaign.config, model_pool(campaign.config)
    require_prices(pool, ledger.budget.limits)
    known = [Recording(reader, reader.counts().last_proposal)]
    guard = None
    with ExitStack() as stack:
        if config.models.recording is not None:
            journal = Layout(Path(config.models.recording)).database
            known.append(Recording(stack.enter_context(Reader(journal)), sys.maxsize, whole=True))
        elif not all(spec.here for spec in pool):
            guard = _guard(config, campaign.store, reader.setting("base"), paths, campaign.prefix)
        seed = config.campaign.seed
        async with Gateway(pool, seed, ledger=ledger, recordings=known, guard=guard) as opened:
            yield opened


def require_prices(pool: Sequence[ModelSpec], limits: Mapping[str, float]) -> None:
    """Check that a limit in dollars can be kept, and is one.

    Raises:
        ConfigError: A price is not known, or nothing costs anything and no other limit is given.
    """
    if "usd" not in limits:
        return
    if unknown := unpriced(pool):
        raise ConfigError(
            f"models.pool: the price of {unknown[0]} is not known, so budget.usd could not be kept; give it "
            "price_in and price_out (dollars per million tokens; 0 where it costs nothing)"
        )
    if limits.keys() == {"usd"} and not any(facts(spec).cost(1, 1) for spec in pool):
        raise ConfigError(
            "budget.usd: no model of the pool costs anything, so it limits nothing; give another limit under "
            "[budget], such as proposals = 200"
        )


def _guard(config: Config, store: Store, tree: str, paths: Sequence[str], prefix: str) -> Guard:
    """A guard that lets through what the configuration allows; refuses to begin with what it does not."""
    found = secrets_of(store, tree, paths)
    refused = refusals(found, config, prefix)
    if refused:
        raise ConfigError(f"{refused[0]}; {how_to_go_on(refused[0], prefix)}")
    return Guard(keys_of(os.environ), {each.secret.text for each in found})


def secrets_of(store: Store, tree: str, paths: Sequence[str]) -> list[Found]:
    """What looks like a secret in the files that models are shown."""
    keys = keys_of(os.environ)
    found: list[Found] = []
    for path in paths:
        text = (store.read(tree, path) or b"").decode("utf-8", "replace")
        found += [Found(path, secret) for secret in secrets_in(text, keys)]
    return found


def tokens_of(store: Store, tree: str, paths: Sequence[str]) -> int:
    """Tokens of files, as they are estimated."""
    return sum(estimate((store.read(tree, path) or b"").decode("utf-8", "replace")) for path in paths)


def refusals(found: Sequence[Found], config: Config, prefix: str) -> list[Found]:
    """Those of the secrets that the configuration does not allow to be sent."""
    allowed = matcher(config.models.allow_secrets, prefix)
    return [each for each in found if not allowed(each.path)]


def how_to_go_on(found: Found, prefix: str) -> str:
    """What to do about a secret that would be sent."""
    path = found.path.removeprefix(prefix)
    return (
        "it would be sent to a model: take it out of the file and commit, leave the file out of "
        f'artifact.include, or, if it is none, write allow_secrets = ["{path}"] under [models]'
    )


def recipients(pool: Sequence[ModelSpec]) -> list[str]:
    """Where prompts go, in words."""
    return [address(spec, os.environ) + (" on this machine" if spec.here else "") for spec in pool]
