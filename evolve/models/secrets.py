"""What looks like a secret, so that it is not sent to a provider.

Keys of services have shapes of their own, and those are looked for; a password in a line such as
`password = "…"` only where its value looks random. A rule that cries wolf gets switched off, so what is
plainly a placeholder (`sk-xxxx…`, `<your key>`, `EXAMPLE`) does not count. The values of the environment's
own keys are known, and found whatever they look like.

The shapes are those that the providers document; GitHub's list of secret scanning patterns names most.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evolve.models.errors import CallFailed

_SHAPES = (
    (
        "a private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*([A-Za-z0-9+/=:\s,-]{40,})",
    ),
    ("an AWS access key", "AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
    ("an AWS access key", "ASIA", r"\bASIA[0-9A-Z]{16}\b"),
    ("a GitHub token", "gh", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})"),
    ("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a key of a model provider", "sk-", r"\bsk-(?:[a-z]+\d*-)*[A-Za-z0-9_]{24,}[A-Za-z0-9_-]*"),
    ("a key of a model provider", "gsk_", r"\bgsk_[A-Za-z0-9]{40,}"),
    ("a key of a model provider", "xai-", r"\bxai-[A-Za-z0-9]{40,}"),
    ("a Google API key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    ("a Slack token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("a Stripe key", "k_live_", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    ("a PyPI token", "pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{40,}"),
    ("a signed token", "eyJ", r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}"),
    ("an Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/=]{80,})"),
    ("a password in an address", "://", r"://[^\s:/@\"'<>{}$]+:([^\s:/@\"'<>{}$]{8,})@[\w.-]+"),
)
"""Each with a part that a text must hold before the shape is looked for."""
_COMPILED = tuple((what, part, re.compile(shape)) for what, part, shape in _SHAPES)
_VALUE = re.compile(r"[:=]\s*[\"']((?=[^\"'\s]*\d)(?=[^\"'\s]*[A-Za-z])[A-Za-z0-9+/=_.~!@#$%^&*-]{16,})[\"']")
_NAME = re.compile(
    r"(?:passwd|password|secret|api_?key|access_?key|secret_?key|token)[\"']?\s*$", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|dummy|sample|changeme|your|fake|redacted|xxx|\*\*\*|\.\.\.|1234567|abcdef|test|password|secret"
    r"|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
)
_LEAST_ENTROPY = 3.0
"""Bits a character below which a value is no random one."""
_SHORTEST_KEY = 12


@dataclass(frozen=True, slots=True)
class Secret:
    """Something that looks like a secret.

    Attributes:
        what: What kind, in words.
        line: Line of the text it stands in, from 1.
        text: The thing itself; never shown.
    """

    what: str
    line: int
    text: str

    @property
    def hint(self) -> str:
        """Its first letters, to find it by."""
        return f"{self.text[:4]}…"


def secrets_in(text: str, keys: Collection[str] = ()) -> Iterator[Secret]:
    """What looks like a secret in a text.

    Args:
        text: The text.
        keys: Values that are secrets whatever they look like.
    """
    for key in keys:
        if (place := text.find(key)) >= 0:
            yield _secret("a key of this environment", text, place, key)
    for what, part, shape in _COMPILED:
        for found in shape.finditer(text) if part in text else ():
            group = found.lastindex or 0
            if _random(found[group]):
                yield _secret(what, text, found.start(group), found[group])
    for found in _VALUE.finditer(text):
        if _NAME.search(text[max(0, found.start() - 24) : found.start()]) and _random(found[1]):
            yield _secret("a password or key", text, found.start(1), found[1])


def _random(value: str) -> bool:
    """Whether a value looks like none that a person made up to show where one goes."""
    return not _PLACEHOLDER.search(value) and _entropy(value) >= _LEAST_ENTROPY


def _secret(what: str, text: str, place: int, value: str) -> Secret:
    return Secret(what, text.count("\n", 0, place) + 1, value)


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())


def keys_of(env: Mapping[str, str]) -> frozenset[str]:
    """Values of the environment's variables whose names say that they are secret."""
    names = (name for name in env if re.search(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", name))
    return frozenset(env[name] for name in names if len(env[name]) >= _SHORTEST_KEY)


class Guard:
    """Looks at prompts before they leave the machine.

    Args:
        keys: Values that are secrets whatever they look like.
        allowed: Texts that look like secrets and may be sent.
    """

    def __init__(self, keys: Collection[str] = (), allowed: Collection[str] = ()) -> None:
        self._keys = tuple(keys)
        self._allowed = frozenset(allowed)

    def check(self, messages: Sequence[Mapping[str, str]]) -> None:
        """Raise CallFailed where a prompt holds what looks like a secret; nothing is sent then."""
        for message in messages:
            for secret in secrets_in(message["content"], self._keys):
                if secret.text not in self._allowed:
                    raise CallFailed(
                        f"nothing was sent: the prompt holds what looks like {secret.what} ({secret.hint}), "
                        "from a candidate or the evaluator's output"
                    )
