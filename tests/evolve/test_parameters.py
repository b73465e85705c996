"""Settings that models refuse, prompts that are too long, and what looks like a secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio
from scripted_server import Scripted, Seen, fails, says, server

from evolve.budget import Budget
from evolve.models import CallFailed, ContextOverflow, Gateway, ModelSpec, Reply
from evolve.models.answers import context_size, fault_of_status
from evolve.models.ledger import Ledger
from evolve.models.secrets import Guard, keys_of, secrets_in

ASK = [{"role": "user", "content": "hello " * 50}]


def ask(
    answer: Callable[[int], Scripted], times: int = 1, ledger: Ledger | None = None, **spec: Any
) -> tuple[list[Reply | CallFailed], Seen]:
    found: list[Reply | CallFailed] = []

    async def main(base: str) -> None:
        model = ModelSpec(spec.pop("model", "tiny"), api_base=base, **spec)
        async with Gateway([model], 0, env={}, ledger=ledger) as gateway:
            for number in range(times):
                try:
                    found.append(
                        await gateway.complete(ASK, number=number, attempt=0, schema={"type": "object"})
                    )
                except CallFailed as error:
                    found.append(error)

    with server(answer) as seen:
        trio.run(main, seen.base)
    return found, seen


def picky(refused: dict[str, str], seen: list[dict[str, Any]]) -> Callable[[int], Scripted]:
    """A server that refuses settings, one at a time, in the words of those that do."""

    def answer(number: int) -> Scripted:
        body = seen[number]
        for name, words in refused.items():
            if name in body:
                return fails(400, words)
        return says("fine")

    return answer


REFUSALS = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    "temperature": "Unsupported value: 'temperature' does not support 0.5 with this model. "
    "Only the default (1) value is supported.",
    "reasoning_effort": "Unrecognized request argument supplied: reasoning_effort",
    "response_format": "response_format: Extra inputs are not permitted",
}


def test_settings_that_a_model_refuses_are_left_out_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []
    answers = picky(REFUSALS, bodies)
    holder: list[Seen] = []

    def answer(number: int) -> Scripted:
        bodies[:] = holder[0].bodies
        return answers(number)

    async def main(seen: Seen) -> list[Reply]:
        holder.append(seen)
        spec = ModelSpec("tiny", api_base=seen.base, temperature=0.5, effort="low", max_tokens=99)
        async with Gateway([spec], 0, env={}) as gateway:
            return [
                await gateway.complete(ASK, number=number, attempt=0, schema={"type": "object"})
                for number in range(2)
            ]

    with server(answer) as seen:
        first, second = trio.run(main, seen)
    assert (first.text, second.text) == ("fine", "fine")
    assert [call.state for call in first.calls] == ["failed"] * 4 + ["answered"]
    assert len(second.calls) == 1
    assert set(seen.bodies[-1]) == {"model", "messages", "max_completion_tokens"}


def test_a_reasoning_model_gets_no_temperature_and_its_own_name_for_the_longest_reply() -> None:
    _, seen = ask(
        lambda _: says("fine"), model="openai/gpt-5-mini", temperature=0.5, max_tokens=99, effort="low"
    )
    [body] = seen.bodies
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (99, "low")
    assert not {"temperature", "max_tokens"} & set(body)


def test_a_refusal_of_anything_else_is_final() -> None:
    found, seen = ask(lambda _: fails(400, "unknown model tiny"), temperature=0.5)
    assert isinstance(found[0], CallFailed)
    assert len(seen.bodies) == 1


TOO_LONG = {
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.": 8192,
    "prompt is too long: 210000 tokens > 200000 maximum": 200_000,
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": 1_048_576,
    "the request exceeds the available context size (4096 tokens), try increasing it": 4096,
    "Prompt contains 40,000 tokens, too large for model with 32,768 maximum context length": 32_768,
    "context_length_exceeded: Your input exceeds the context window of this model": None,
    "Input is too long for requested model.": None,
}


@pytest.mark.parametrize("words", TOO_LONG)
def test_a_prompt_that_is_too_long_is_told_apart_with_the_size_that_was_named(words: str) -> None:
    fault = fault_of_status(400, words, None)
    assert fault.kind == "overflow"
    assert fault.size == context_size(words) == TOO_LONG[words]


def test_an_operator_hears_that_its_prompt_is_too_long_and_how_long_it_may_be() -> None:
    words = next(iter(TOO_LONG)).replace("8192", "300")

    async def main(base: str) -> None:
        async with Gateway([ModelSpec("tiny", api_base=base)], 0, env={}) as gateway:
            assert gateway.prompt_room() is None
            with pytest.raises(ContextOverflow) as caught:
                await gateway.complete([{"role": "user", "content": "hello " * 300}], number=1, attempt=0)
            assert caught.value.size == 300
            assert 0 < (gateway.prompt_room() or 0) < 300

    with server(lambda _: fails(400, words)) as seen:
        trio.run(main, seen.base)
    assert len(seen.bodies) == 1


def test_a_reply_that_we_bounded_is_bounded_lower_where_it_would_not_fit() -> None:
    words = "This model's maximum context length is 2048 tokens. However, you requested 16500 tokens."
    ledger = Ledger(Budget({"tokens": 10**6}))
    found, seen = ask(lambda number: fails(400, words) if number == 0 else says("fine"), ledger=ledger)
    assert isinstance(found[0], Reply)
    first, second = (body["max_tokens"] for body in seen.bodies)
    assert (first, second < 2048) == (16_384, True)


def made_up(prefix: str, length: int) -> str:
    """Something of a secret's shape, put together here so that no scanner finds one in this file."""
    letters = "q7Wz3RkX9vTb2NmL5pYd8HcJ4gFs6AeU1iKo0Bx"
    return prefix + (letters * 4)[:length]


SECRETS = {
    "a GitHub token": made_up("gh" + "p_", 36),
    "an AWS access key": "AK" + "IA" + "Q7WZ3RKX9VTB2NML",
    "a Google API key": made_up("AI" + "za", 35),
    "a key of a model provider": made_up("sk" + "-ant-api03-", 60),
    "a Hugging Face token": made_up("hf" + "_", 34),
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + made_up("MII", 64),
    "a password in an address": "postgres://app:" + made_up("", 14) + "@db.internal/app",
    "a password or key": "api_key = '" + made_up("", 24) + "'",
}


@pytest.mark.parametrize("what", SECRETS)
def test_what_looks_like_a_secret_is_found_with_its_line(what: str) -> None:
    text = f"import os\n\nVALUE = 1  # {SECRETS[what]}\n"
    [found] = list(secrets_in(text))
    assert found.what == what
    assert found.line == (4 if what == "a private key" else 3)
    assert len(found.hint) == 5


HARMLESS = [
    "key = 'sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
    "token = os.environ['GITHUB_TOKEN']",
    "api_key = 'your-api-key-goes-here-123'",
    "password = getpass.getpass()",
    "url = 'postgres://user:password@localhost/db'",
    "sha = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
    "task-list-of-everything-that-one-might-want-to-do = 1",
    "-----BEGIN PRIVATE KEY-----",
    "tokens = {'first': 'aGVsbG8', 'second': 'd29ybGQ'}",
    "secret_sauce = 'oregano and a little thyme 1'",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_one_is_left_alone(text: str) -> None:
    assert list(secrets_in(text)) == []


def test_keys_of_the_environment_are_found_whatever_they_look_like() -> None:
    env = {"MY_API_KEY": "plain-words-only", "SHORT_KEY": "abc", "HOME": "/home/somebody"}
    assert keys_of(env) == {"plain-words-only"}
    [found] = list(secrets_in("x = plain-words-only", keys_of(env)))
    assert found.what == "a key of this environment"


def test_a_guard_lets_through_what_is_allowed_and_nothing_else() -> None:
    secret = SECRETS["a GitHub token"]
    messages = [{"role": "user", "content": json.dumps({"token": secret})}]
    Guard(allowed={secret}).check(messages)
    with pytest.raises(CallFailed, match="nothing was sent") as caught:
        Guard().check(messages)
    assert secret not in str(caught.value)
