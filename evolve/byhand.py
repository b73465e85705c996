"""The prompt that a person or another program answers: what `edit` would send for a parent."""

from __future__ import annotations

from dataclasses import dataclass

from archives.reader import Reader
from archives.records import Basis, Candidate, Proposal
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.derived import look
from evolve.memory import Memory
from evolve.operators.base import Source
from evolve.operators.conversation import LARGEST_ROOM
from evolve.orders import order_for
from evolve.population import Population
from evolve.prompts.composing import Prompt
from evolve.randomness import rng
from evolve.registry import composer_for
from evolve.stages.select import INSPIRATIONS
from evolve.territory import editable, visible


@dataclass(frozen=True)
class Looking:
    """What who looks at a campaign knows of it."""

    config: Config
    reader: Reader
    population: Population
    base: Candidate
    memory: Memory

    @property
    def seed(self) -> int:
        """Seed of the campaign."""
        return self.config.campaign.seed


def prompt_for(campaign: Campaign, reader: Reader, parent: Candidate) -> Prompt:
    """What `edit` would send for a parent now; nothing is written.

    Which elites inspire and which lessons are told is drawn anew whenever something was proposed.
    """
    base = reader.candidate(reader.setting("base")) or parent
    known = Looking(campaign.config, reader, look(reader), base, Memory(reader.lessons()))
    number = reader.counts().last_proposal + 1
    others = [e.candidate for e in known.population.elites() if e.candidate != parent.id]
    drawn = rng(known.seed, number, "inspirations").sample(others, min(INSPIRATIONS, len(others)))
    lessons = known.memory.draw(rng(known.seed, number, "lessons"))
    basis = Basis(known.population.champion.version, len(known.population.candidates))
    proposal = Proposal(number, "edit", parent.id, basis, inspirations=tuple(drawn), lessons=lessons)
    paths = [entry.path for entry in campaign.store.files(base.id)]
    config, prefix = campaign.config, campaign.prefix
    source = Source(campaign.store, editable(config, paths, prefix), visible(config, paths, prefix))
    composer = composer_for(campaign.config, campaign.folder)
    return composer.compose("edit", order_for(known, proposal), source, lambda size: {}, room=LARGEST_ROOM)
