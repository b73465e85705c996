"""Tokens are counted without a tokenizer, and what is known of a model comes from a file."""

from __future__ import annotations

import subprocess
import sys

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import says, server

from evolve.models import Gateway, ModelSpec
from evolve.models.catalog import facts
from evolve.models.tokens import FIRST_MARGIN, MARGIN, Meter, estimate, of_messages

# What cl100k_base, o200k_base and the tokenizer of DeepSeek count, the higher of them.
COUNTED = {
    "def area(radius: float) -> float:\n    return 3.14159 * radius**2\n" * 20: 440,
    "The quick brown fox jumps over a lazy dog and then it goes away. " * 20: 301,
    "0.8414709848, 0.9092974268, 0.1411200081, 4711\n" * 20: 540,
    '{"name": "first", "values": [1, 22, 333], "ok": true},\n' * 20: 460,
    "Das Größte wächst; Öfen kühlen früh. " * 20: 321,
    "進化プログラムは良い変更を残す。" * 20: 380,
}


@pytest.mark.parametrize("text", COUNTED)
def test_an_estimate_is_near_what_tokenizers_count(text: str) -> None:
    assert 0.9 * COUNTED[text] <= estimate(text) <= 1.6 * COUNTED[text]


@given(st.text(), st.text())
def test_an_estimate_is_bounded_by_the_bytes_and_grows_with_the_text(first: str, second: str) -> None:
    whole = first + second
    assert 0 <= estimate(first) <= len(first.encode("utf-8", "replace"))
    assert estimate(whole) >= max(estimate(first), estimate(second))
    assert estimate(whole) <= estimate(first) + estimate(second) + 1


def test_a_conversation_takes_more_than_its_texts() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert of_messages(messages) > estimate("Be brief.") + estimate("Hello")


def test_a_meter_learns_what_a_model_counts_and_forgets_no_high_count() -> None:
    meter = Meter()
    assert meter.most(100) == round(100 * FIRST_MARGIN + 0.5)
    meter.learn(100, 0)
    assert meter.factor == FIRST_MARGIN
    meter.learn(100, 200)
    meter.learn(100, 50)
    assert meter.most(100) >= 200


def test_models_are_known_by_their_names_with_or_without_the_provider() -> None:
    known = facts(ModelSpec("openai/gpt-5-mini"))
    assert known == facts(ModelSpec("gpt-5-mini"))
    assert (known.context or 0) > 100_000
    assert known.prices[0].price_out > known.prices[0].price_in > 0
    assert known.reasons


def test_what_the_configuration_says_counts_more_than_the_list() -> None:
    told = facts(ModelSpec("gpt-5-mini", price_in=7.0, context=1000))
    assert told.cost(1_000_000, 1_000_000) == 7.0
    assert told.context == 1000


def test_long_prompts_may_cost_more() -> None:
    known = facts(ModelSpec("gemini/gemini-2.5-pro"))
    assert (known.cost(1_000, 0) or 0) / 1_000 < (known.cost(300_000, 0) or 0) / 300_000


def test_nothing_is_known_of_a_server_of_ones_own_or_of_a_name_of_another_provider() -> None:
    local = facts(ModelSpec("gpt-5-mini", api_base="http://127.0.0.1:9/v1"))
    assert (local.cost(1, 1), local.context) == (None, None)
    assert facts(ModelSpec("somebody/gpt-5-mini")).cost(1, 1) is None


def test_the_list_is_read_without_importing_its_library() -> None:
    code = (
        "import sys; from evolve.models import ModelSpec; from evolve.models.catalog import facts;"
        "facts(ModelSpec('gpt-5-mini')); print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_room_for_a_prompt_is_that_of_the_smallest_model_and_follows_what_is_billed() -> None:
    ask = [{"role": "user", "content": "word " * 10}]

    async def main(base: str) -> None:
        small = ModelSpec("small", api_base=base, context=4000, max_tokens=1000)
        async with Gateway([small, ModelSpec("gpt-5-mini", weight=0)], 0, env={}) as gateway:
            assert gateway.context_size(small) == 4000
            assert gateway.prompt_room() == int(3000 / FIRST_MARGIN)
            await gateway.complete(ask, number=1, attempt=0)
            assert gateway.prompt_room() == int(3000 / (100 / of_messages(ask) * MARGIN))

    with server(lambda _: says("fine")) as seen:  # bills 100 tokens for each prompt
        trio.run(main, seen.base)


def test_without_any_known_size_there_is_no_limit_to_a_prompt() -> None:
    assert Gateway([ModelSpec("tiny", api_base="http://127.0.0.1:9/v1")], 0).prompt_room() is None
