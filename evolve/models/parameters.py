"""Settings of a request, and which of them a model does not take.

Reasoning models refuse a temperature and want the longest reply under another name; servers of one's own
know some settings and not others. Nobody lists that reliably, but a refusal names the setting. So a model
is asked without what its name rules out, and when it refuses a setting that can be left out or be said
otherwise, it is asked again without it, then and from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evolve.models.catalog import Facts
from evolve.models.spec import ModelSpec

_REFUSES = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|extra inputs|not allowed"
    r"|only the default|deprecated|use 'max_completion_tokens'",
    re.IGNORECASE,
)
_OPTIONAL = ("temperature", "reasoning_effort", "response_format", "max_completion_tokens", "max_tokens")


class Parameters:
    """What is sent to one model besides the messages.

    Args:
        spec: The model.
        facts: What is known of it.
    """

    def __init__(self, spec: ModelSpec, facts: Facts) -> None:
        self._spec = spec
        self._schemas = facts.schemas
        self._refused: set[str] = set()
        if facts.reasons:
            self._refused.add("temperature")
            if spec.direct:
                self._refused.add("max_tokens")

    def settings(self, longest: int | None, schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings of one request, by the names of OpenAI's protocol.

        Args:
            longest: Most tokens of the reply; None: as many as the model likes.
            schema: JSON schema that the reply should follow; left out where the model takes none.
        """
        wanted: dict[str, Any] = {
            "temperature": self._spec.temperature,
            "reasoning_effort": self._spec.effort,
            "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens": longest,
        }
        if schema is not None and self._schemas:
            shape = {"name": "reply", "schema": dict(schema), "strict": True}
            wanted["response_format"] = {"type": "json_schema", "json_schema": shape}
        return {k: v for k, v in wanted.items() if v is not None and k not in self._refused}

    def learn(self, reason: str, sent: Mapping[str, Any]) -> bool:
        """Whether a refusal is about one of the settings that were sent; it is not sent again then."""
        if not _REFUSES.search(reason):
            return False
        named = [name for name in _OPTIONAL if name in sent and re.search(rf"\b{name}\b", reason)]
        self._refused.update(named[:1])
        return bool(named)
