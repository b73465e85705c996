"""What the journal implies but does not store: the archive, and how the candidates stand."""

from __future__ import annotations

from typing import Any

from archives.grid import Axis
from archives.reader import Reader
from evolve.population import Population


def axes_of(reader: Reader) -> list[Axis]:
    """The archive's axes as the campaign uses them."""
    return [_axis(table) for table in reader.setting("axes", [])]


def _axis(table: dict[str, Any]) -> Axis:
    values = table.get("values")
    return Axis(
        table["name"],
        table.get("bins"),
        table.get("low"),
        table.get("high"),
        None if values is None else tuple(values),
    )


def look(reader: Reader) -> Population:
    """Rebuild what is known of the candidates; needs the reader as long as it is used."""
    population = Population(
        reader.setting("direction", "maximize"),
        axes_of(reader),
        reader.setting("depth", 1),
        reader.setting("noise", 0.0) or 0.0,
        reader.candidate,
    )
    with reader.snapshot():
        population.load(reader.stubs(), reader.looks(), reader.champions())
    return population
