"""How candidates fared at the stages of an evaluator, and what that saved."""

from __future__ import annotations

from typing import Any

from archives.reader import Reader
from archives.records import FULL
from evolve.answers import StageFate


def fates_of_stages(reader: Reader) -> dict[str, StageFate]:
    """What came of each stage, in the order of the configuration; empty where nothing is staged or split."""
    table: dict[str, Any] = reader.setting("config", {}).get("evaluator", {})
    names = [stage["name"] for stage in table.get("stages", [])]
    if not names and table.get("chunk") is None:
        return {}
    ends, gated = reader.stage_ends(), reader.gated_out()
    found = {}
    for name in [*names, FULL]:
        mine = {verdict: end for (stage, verdict), end in ends.items() if stage == name}
        numbers = {verdict: count for verdict, (count, _) in mine.items()}
        if name == FULL:  # who was gated out has a record here without a run
            numbers["cancelled"] = numbers.get("cancelled", 0) - sum(gated.values())
        found[name] = StageFate(
            judged=numbers.get("judged", 0),
            gated_out=gated.get(name, 0),
            cut_short=max(0, numbers.get("cancelled", 0)),
            seconds=sum(seconds for _, seconds in mine.values()),
        )
    return found


def saved(reader: Reader, fates: dict[str, StageFate]) -> float | None:
    """Evaluator-seconds that judging everybody in full would have taken beyond what was spent, estimated.

    Each candidate that was gated out or cut short is taken to cost the mean of those judged in full.
    """
    full = fates.get(FULL)
    if full is None or not full.judged:
        return None
    ends = reader.stage_ends()
    mean = ends[FULL, "judged"][1] / full.judged
    ended = full.cut_short + sum(fate.gated_out for fate in fates.values())
    spent = ends.get((FULL, "cancelled"), (0, 0.0))[1]
    if reader.setting("config", {}).get("evaluator", {}).get("chunk") is None:
        spent += sum(fate.seconds for name, fate in fates.items() if name != FULL)
    return ended * mean - spent
