"""Which models there are to ask, and whether their keys are at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One entry of the pool.

    Attributes:
        model: Name as litellm writes it ("anthropic/claude-haiku-4-5"); with `api_base`, as the server does.
        weight: Share of the calls it gets, relative to the others.
        api_base: Address of an OpenAI-compatible server, up to and including "/v1".
        api_key_env: Environment variable that holds the key; without it the provider's usual one, and with
            `api_base` none at all.
        temperature: Sent only if given, and to no model that refuses one.
        effort: How long a reasoning model may think ("low", "medium", …); sent only if given.
        max_tokens: Longest reply.
        timeout: Seconds one attempt may take.
        price_in: US dollars per million tokens of the prompt.
        price_out: US dollars per million tokens of the reply.
        context: Tokens it takes, where that is not known by its name.
        requests_per_minute: Most requests a minute.
        tokens_per_minute: Most tokens a minute, of prompts and replies together.
    """

    model: str
    weight: float = 1.0
    api_base: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    effort: str | None = None
    max_tokens: int | None = None
    timeout: float = 600.0
    price_in: float | None = None
    price_out: float | None = None
    context: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    @property
    def direct(self) -> bool:
        """Whether we speak to its server ourselves, without litellm."""
        return self.api_base is not None and (self.model.startswith("openai/") or "/" not in self.model)

    @property
    def here(self) -> bool:
        """Whether it runs on this very machine, so that nothing leaves it."""
        host = urlsplit(self.api_base or "").hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")


KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Provider to the variable that litellm reads its key from; others are checked by litellm itself."""

ALSO = {"gemini": ("GOOGLE_API_KEY",)}

DEFAULTS = {
    "OPENAI_API_KEY": "openai/gpt-5-mini",
    "ANTHROPIC_API_KEY": "anthropic/claude-haiku-4-5",
    "GEMINI_API_KEY": "gemini/gemini-2.5-flash",
    "MISTRAL_API_KEY": "mistral/mistral-medium-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
}

BARE = {"gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude-": "anthropic"}


def default_pool(env: Mapping[str, str] = os.environ) -> tuple[ModelSpec, ...]:
    """One small model of the first provider whose key is in the environment; empty without any key."""
    for variable, model in DEFAULTS.items():
        if env.get(variable, "").strip():
            return (ModelSpec(model),)
    return ()


def provider(spec: ModelSpec) -> str | None:
    """Provider of a model by its name, where that can be told without litellm."""
    prefix, slash, _ = spec.model.partition("/")
    if slash:
        return prefix
    return next((name for start, name in BARE.items() if spec.model.startswith(start)), None)


def missing_key(spec: ModelSpec, env: Mapping[str, str] = os.environ) -> str | None:
    """One line that names the variable to set, or None if nothing is known to be missing."""
    variable, others = spec.api_key_env, tuple[str, ...]()
    if variable is None and not spec.direct:
        variable, others = KEYS.get(provider(spec) or ""), ALSO.get(provider(spec) or "", ())
    if variable is None or any(env.get(name, "").strip() for name in (variable, *others)):
        return None
    return f"model {spec.model} needs a key: set {variable} in the environment"


def unavailable(pool: Sequence[ModelSpec], env: Mapping[str, str] = os.environ) -> str | None:
    """Why no operator that needs a model can run, in one line; None if one can."""
    if not pool:
        pool = default_pool(env)
    if not pool:
        return "no model is configured and no key is set: name one under [models] pool, or set OPENAI_API_KEY"
    missing = [missing_key(spec, env) for spec in pool]
    return missing[0] if all(missing) else None


def address(spec: ModelSpec, env: Mapping[str, str]) -> str:
    """Where its calls go, for messages: the server's address without credentials, or the model's name."""
    base = spec.api_base
    if base is None and provider(spec) == "openai":
        base = env.get("OPENAI_BASE_URL") or env.get("OPENAI_API_BASE")
    if not base:
        return spec.model
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path} ({spec.model})"
