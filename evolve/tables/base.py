"""What all tables of `evolve.toml` have in common, and the kinds of their values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from evolve.quantities import seconds, size

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}"
"""What a campaign, or a stage, may be called."""
Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(size), Field(ge=2**20)]
Width = Annotated[int, Field(ge=1, le=1024)] | Literal["auto"]
Share = Annotated[float, Field(gt=0)]


class Table(BaseModel):
    """A table of the file: unknown keys are errors, values are not converted behind the user's back."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


def all_different(names: list[str]) -> list[str]:
    """The names, once it is sure that none stands among them twice."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} stands in it twice")
    return names


Cases = Annotated[list[str], Field(min_length=1), AfterValidator(all_different)]
