"""A client for every provider that litellm knows.

litellm takes seconds to import, so it is imported on the asyncio loop's own thread while a run gets ready.
Told nothing, it would fetch a price list from the network on import, print help texts to standard error,
and repeat requests by itself, unseen and unbilled by us; each of these is turned off.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.models.answers import LONGEST, Answer, fault_of_exception, fault_of_status
from evolve.models.errors import Fault, MissingKey
from evolve.models.spec import ModelSpec
from evolve.quoting import one_line


class HostedClient:
    """Sends one request per call and never repeats it; lives on the asyncio loop."""

    def __init__(self) -> None:
        self._litellm: Any = None

    async def complete(
        self,
        spec: ModelSpec,
        key: str | None,
        messages: Sequence[Mapping[str, str]],
        settings: Mapping[str, Any],
    ) -> Answer:
        """One attempt; raises Fault, or MissingKey."""
        litellm = self._library()
        options = {"api_key": key, "api_base": spec.api_base, **settings}
        try:
            response = await asyncio.wait_for(
                litellm.acompletion(
                    model=spec.model,
                    messages=[dict(message) for message in messages],
                    timeout=spec.timeout,
                    max_retries=0,
                    num_retries=0,
                    **{name: value for name, value in options.items() if value is not None},
                ),
                spec.timeout + 1,
            )
        # Providers raise whatever their libraries do; there is no narrower common class.
        except Exception as error:
            self._check_key(spec, key, error)
            raise _fault(error, spec.timeout) from error
        return _answer(response)

    async def prepare(self) -> None:
        """Import the library now, so that no call waits for it."""
        self._library()

    def _library(self) -> Any:
        if self._litellm is None:
            os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
            import litellm

            litellm.suppress_debug_info = True
            litellm.drop_params = True
            self._litellm = litellm
        return self._litellm

    def _check_key(self, spec: ModelSpec, key: str | None, error: Exception) -> None:
        """Turn a complaint about credentials into the name of the variable to set."""
        told = str(error).lower()
        if key or not any(word in told for word in ("credential", "api_key", "api key", "401")):
            return
        missing = self._litellm.validate_environment(model=spec.model).get("missing_keys") or []
        names = [name for name in missing if name.endswith("_KEY")]
        if names:
            raise MissingKey(f"model {spec.model} needs a key: set {names[0]} in the environment") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._litellm is not None:
            close = getattr(self._litellm, "close_litellm_async_clients", None)
            if close is not None:
                await close()


def _fault(error: Exception, timeout: float) -> Fault:
    status = getattr(error, "status_code", None)
    transport = fault_of_exception(error, timeout)
    if transport.kind == "timeout" or not isinstance(status, int):
        return transport
    deepest: BaseException = error
    while (deeper := deepest.__cause__ or deepest.__context__) is not None:
        deepest = deeper
    # A connection that was never made is dressed up as a status of 500.
    if isinstance(deepest, OSError) or "Connection error" in str(error):
        return transport
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    said = one_line(getattr(error, "message", "") or error, 300)
    return fault_of_status(status, said, headers.get("retry-after"), headers.get("date"))


def _answer(response: Any) -> Answer:
    usage = getattr(response, "usage", None)
    sent = int(getattr(usage, "prompt_tokens", 0) or 0)
    received = int(getattr(usage, "completion_tokens", 0) or 0)
    details = getattr(usage, "prompt_tokens_details", None)
    cached = int(getattr(details, "cached_tokens", 0) or 0)
    usd = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    if not response.choices:
        raise Fault("the answer holds no choice", "server", None, sent, received, usd)
    choice = response.choices[0]
    text = choice.message.content or ""
    if len(text) > LONGEST:
        said = f"the answer is longer than {LONGEST // 1024**2} MiB"
        raise Fault(said, "answer", None, sent, received, usd)
    return Answer(text, choice.finish_reason or "stop", sent, received, usd, cached)
