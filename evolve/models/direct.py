"""A client for servers that speak OpenAI's chat protocol, such as llama.cpp, vLLM and Ollama.

It needs neither the five seconds nor the two hundred megabytes that importing litellm costs, and a
fifteenth of its processor time per call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evolve.models.answers import LONGEST, Answer, fault_of_exception, fault_of_status
from evolve.models.errors import Fault
from evolve.models.spec import ModelSpec
from evolve.quoting import one_line

if TYPE_CHECKING:
    import aiohttp

Messages = Sequence[Mapping[str, str]]


class DirectClient:
    """Sends one request per call and never repeats it; lives on the asyncio loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def complete(
        self, spec: ModelSpec, key: str | None, messages: Messages, settings: Mapping[str, Any]
    ) -> Answer:
        """One attempt; raises Fault."""
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        url = f"{(spec.api_base or '').rstrip('/')}/chat/completions"
        try:
            async with self._session.post(
                url,
                json={"model": spec.model.removeprefix("openai/"), "messages": list(messages), **settings},
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=aiohttp.ClientTimeout(total=spec.timeout),
                proxy=_proxy(url),
                allow_redirects=False,
            ) as response:
                content = await _read(response)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if isinstance(error, aiohttp.InvalidURL):
                raise Fault(f"{spec.api_base} is no address: write http://HOST:PORT/v1") from error
            raise fault_of_exception(error, spec.timeout) from error
        if response.status != 200:
            headers = response.headers
            said = _said(content) or headers.get("Location", "")
            raise fault_of_status(response.status, said, headers.get("Retry-After"), headers.get("Date"))
        return read_answer(content)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    proxy = getproxies().get(parts.scheme)
    return proxy if proxy and proxy.startswith("http") else None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > LONGEST:
            response.close()
            raise Fault(f"the answer is longer than {LONGEST // 1024**2} MiB", lost=True)
    return bytes(content)


def _said(content: bytes) -> str:
    """What an error body says, in one line."""
    text = content.decode("utf-8", "replace")
    try:
        error = json.loads(text)
        error = error.get("error", error)
        parts = [str(error[key]) for key in ("code", "message") if error.get(key)]
        return one_line(": ".join(parts) or text, 300)
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return one_line(text, 300)


def read_answer(content: bytes) -> Answer:
    """The answer in the body of a successful response; raises Fault where there is none."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Fault("the answer is not whole JSON", "server", lost=True) from error
    if not isinstance(data, dict):
        raise Fault("the answer is not a JSON object", "server")
    sent, received, cached = _usage(data.get("usage"))
    if data.get("error"):
        said = one_line(f"the answer is an error: {data['error']}", 300)
        raise Fault(said, "server", None, sent, received)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Fault("the answer holds no choice", "server", None, sent, received)
    text = message.get("content")
    if not text and message.get("refusal"):
        said = str(message["refusal"])
        raise Fault(one_line(f"the model declines: {said}", 300), "answer", None, sent, received, None, said)
    finish = choice.get("finish_reason")
    said = text if isinstance(text, str) else ""
    return Answer(said, str(finish) if finish else "stop", sent, received, cached_tokens=cached)


def _usage(usage: object) -> tuple[int, int, int]:
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), _count(cached)


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
