"""The gateway against a real server on 127.0.0.1; pauses are recorded instead of waited for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from email.utils import formatdate

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import Scripted, fails, says, server

from archives.errors import ConfigError, ModelError
from evolve.models import (
    CallFailed,
    Gateway,
    MissingKey,
    ModelSpec,
    NoModelAnswers,
    Reply,
    default_pool,
    missing_key,
    unavailable,
)
from evolve.models.answers import seconds_to_wait
from evolve.models.breaker import LIMIT, Breaker
from evolve.models.spec import address

ASK = [{"role": "user", "content": "hello"}]


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await trio.lowlevel.checkpoint()


def ask(
    *pool: ModelSpec, env: dict[str, str] | None = None, times: int = 1, pauses: Pauses | None = None
) -> list[Reply | ModelError]:
    """Ask `times` times, one after the other; failures are returned in their place."""

    async def main() -> list[Reply | ModelError]:
        results: list[Reply | ModelError] = []
        pause = Pauses() if pauses is None else pauses
        async with Gateway(pool, 7, env=env or {}, pause=pause) as gateway:
            for number in range(1, times + 1):
                try:
                    results.append(await gateway.complete(ASK, number=number, attempt=0, operator="edit"))
                except ModelError as error:
                    results.append(error)
        return results

    return trio.run(main)


def local(base: str, **values: object) -> ModelSpec:
    return ModelSpec("tiny", api_base=base, **values)  # type: ignore[arg-type]


def refused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_reply_comes_with_its_tokens_its_price_and_one_call() -> None:
    with server(lambda _: says("fine")) as seen:
        [reply] = ask(local(seen.base, price_in=1.0, price_out=10.0))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model, reply.finish_reason) == ("fine", "tiny", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)
    assert reply.usd == pytest.approx(0.0002)
    [call] = reply.calls
    assert (call.id, call.proposal, call.operator, call.error, call.reply) == (1, 1, "edit", None, "fine")
    assert call.prompt.startswith("sha256:")


def test_a_price_that_nobody_knows_is_unknown_and_not_zero() -> None:
    with server(lambda _: says("fine")) as seen:
        [reply] = ask(local(seen.base))
    assert isinstance(reply, Reply)
    assert reply.usd is None


def test_only_what_is_configured_is_sent() -> None:
    with server(lambda _: says("fine")) as seen:
        ask(ModelSpec("openai/a/b", api_base=seen.base + "/"))
        ask(local(seen.base, temperature=0.5, max_tokens=9))
    assert seen.bodies[0] == {"model": "a/b", "messages": ASK}
    assert seen.bodies[1] == {"model": "tiny", "messages": ASK, "temperature": 0.5, "max_tokens": 9}


def test_a_key_is_sent_only_where_its_variable_is_named() -> None:
    env = {"OPENAI_API_KEY": "sk-general", "MY_KEY": "sk-mine"}
    with server(lambda _: says("fine")) as seen:
        ask(local(seen.base), env=env)
        ask(local(seen.base, api_key_env="MY_KEY"), env=env)
    assert "Authorization" not in seen.headers[0]
    assert seen.headers[1]["Authorization"] == "Bearer sk-mine"


def test_a_key_that_the_server_repeats_is_not_passed_on() -> None:
    with server(lambda _: fails(401, "bad key sk-mine")) as seen:
        [error] = ask(local(seen.base, api_key_env="MY_KEY"), env={"MY_KEY": "sk-mine"})
    assert isinstance(error, CallFailed)
    assert "sk-mine" not in str(error)
    assert "sk-mine" not in str(error.calls)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_what_passes_is_asked_again(status: int) -> None:
    with server(lambda n: fails(status) if n < 2 else says("fine")) as seen:
        [reply] = ask(local(seen.base))
    assert isinstance(reply, Reply)
    assert [bool(call.error) for call in reply.calls] == [True, True, False]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_stays_wrong_is_not_asked_again(status: int) -> None:
    with server(lambda _: fails(status, "too long")) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert str(status) in str(error)
    assert "too long" in str(error)
    assert len(seen.bodies) == len(error.calls) == 1


BROKEN = {
    "connection reset": Scripted(reset=True),
    "body cut short": Scripted(body=says("fine").body[:40], claimed=500),
    "json cut short": Scripted(body=says("fine").body[:40]),
    "no choices": Scripted(body=b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}'),
    "not an object": Scripted(body=b"[1]"),
    "error with status 200": Scripted(body=b'{"error": {"message": "overloaded"}}'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_is_none_is_asked_for_again(name: str) -> None:
    with server(lambda n: BROKEN[name] if n == 0 else says("fine")) as seen:
        [reply] = ask(local(seen.base))
    assert isinstance(reply, Reply)
    assert len(reply.calls) == 2
    assert reply.calls[0].error


def test_tokens_of_a_failed_answer_are_recorded() -> None:
    with server(lambda n: BROKEN["no choices"] if n == 0 else says("fine")) as seen:
        [reply] = ask(local(seen.base, price_in=1e6))
    assert isinstance(reply, Reply)
    assert (reply.calls[0].prompt_tokens, reply.calls[0].usd) == (5, 5.0)


def test_a_refusal_of_the_model_is_final_and_billed() -> None:
    with server(lambda _: says("", refusal="I will not")) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert "I will not" in str(error)
    assert [call.prompt_tokens for call in error.calls] == [100]


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with server(lambda _: Scripted(body=b" " * (5 * 1024 * 1024))) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert "longer than 4 MiB" in str(error)


def test_a_time_out_is_asked_again_but_not_often() -> None:
    with server(lambda _: Scripted(hang=True)) as seen:
        [error] = ask(local(seen.base, timeout=0.2))
    assert isinstance(error, CallFailed)
    assert "within 0.2 s" in str(error)
    assert len(error.calls) == 3


def test_a_redirect_is_not_followed() -> None:
    with server(lambda _: Scripted(307, b"", {"Location": "http://127.0.0.1:1/v1"})) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert "307" in str(error)


@pytest.mark.parametrize("after", ["20", "date"])
def test_no_attempt_comes_before_the_server_wants_it(after: str) -> None:
    pauses = Pauses()
    value = formatdate(time.time() + 21, usegmt=True) if after == "date" else after
    with server(lambda n: fails(429, Retry_After=value) if n == 0 else says("fine")) as seen:
        [reply] = ask(local(seen.base), pauses=pauses)
    assert isinstance(reply, Reply)
    assert len(pauses) == 1
    # A date has no fractions, so what is left of 21 s may be a little over 19.
    assert pauses[0] >= (19 if after == "date" else 20)


def test_a_wait_of_hours_ends_the_call() -> None:
    with server(lambda _: fails(429, Retry_After="7200")) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert "7200 s" in str(error)
    assert len(seen.bodies) == 1


def test_an_exhausted_quota_is_not_asked_again() -> None:
    with server(lambda _: fails(429, "insufficient_quota: add money")) as seen:
        [error] = ask(local(seen.base))
    assert isinstance(error, CallFailed)
    assert len(seen.bodies) == 1


def test_pauses_grow_and_are_the_same_for_the_same_proposal() -> None:
    first, second = Pauses(), Pauses()
    with server(lambda _: fails(500)) as seen:
        ask(local(seen.base), pauses=first)
        ask(local(seen.base), pauses=second)
    assert first == second
    assert first == sorted(first)
    assert len(first) == 7


def test_ten_failures_in_a_row_end_all_further_calls_and_name_address_and_reason() -> None:
    with server(lambda _: fails(503, "down for repair")) as seen:
        first, second, third = ask(local(seen.base), times=3)
    assert isinstance(first, CallFailed)
    assert len(first.calls) == 8
    assert isinstance(second, NoModelAnswers)
    assert len(second.calls) == 2
    assert isinstance(third, NoModelAnswers)
    assert third.calls == ()
    assert len(seen.bodies) == 10
    for said in ("no model answers", seen.address, "down for repair"):
        assert said in str(third)


def test_an_answer_in_between_starts_the_count_anew() -> None:
    with server(lambda n: says("fine") if n % 6 == 5 else fails(500)) as seen:
        results = ask(local(seen.base), times=4)
    assert all(isinstance(result, Reply) for result in results)


def test_a_dead_address_is_given_up_within_seconds() -> None:
    pauses = Pauses()
    port = refused_port()
    results = ask(local(f"http://127.0.0.1:{port}/v1"), times=2, pauses=pauses)
    assert isinstance(results[-1], NoModelAnswers)
    assert f"127.0.0.1:{port}" in str(results[-1])
    assert "connection refused" in str(results[-1])
    assert sum(pauses) < 30


def test_credentials_in_an_address_are_not_shown() -> None:
    spec = local("http://user:secret@127.0.0.1:9/v1")
    assert address(spec, {}) == "http://127.0.0.1:9/v1 (tiny)"


def test_the_rest_of_the_pool_goes_on_without_a_dead_model() -> None:
    with server(lambda _: says("fine")) as seen:
        dead = ModelSpec("dead", weight=50, api_base=f"http://127.0.0.1:{refused_port()}/v1")
        results = ask(dead, local(seen.base), times=6)
    assert isinstance(results[-1], Reply)
    assert not any(isinstance(result, NoModelAnswers) for result in results)


def test_models_are_chosen_by_weight_and_again_the_same() -> None:
    with server(lambda _: says("fine")) as seen:
        pool = (ModelSpec("rare", 1, seen.base), ModelSpec("usual", 9, seen.base))
        first = [reply.model for reply in ask(*pool, times=40) if isinstance(reply, Reply)]
        second = [reply.model for reply in ask(*pool, times=40) if isinstance(reply, Reply)]
    assert first == second
    assert 0 < first.count("rare") < 15


def test_a_cancelled_call_hangs_up() -> None:
    async def main(base: str) -> None:
        async with Gateway([local(base)], 0, env={}) as gateway:
            with trio.move_on_after(5) as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lambda: gateway.complete(ASK, number=1, attempt=0))
                    await trio.to_thread.run_sync(seen.arrived.wait, 5)
                    nursery.cancel_scope.cancel()
            assert not scope.cancelled_caught
            assert await trio.to_thread.run_sync(seen.hung_up.wait, 5)

    with server(lambda _: Scripted(hang=True)) as seen:
        trio.run(main, seen.base)


def test_closing_ends_calls_in_flight_and_the_thread() -> None:
    async def main(base: str) -> None:
        gateway = Gateway([local(base)], 0, env={})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: gateway.complete(ASK, number=1, attempt=0))
            await trio.to_thread.run_sync(seen.arrived.wait, 5)
            nursery.cancel_scope.cancel()
        await gateway.aclose()
        assert "evolve-models" not in {thread.name for thread in __import__("threading").enumerate()}

    with server(lambda _: Scripted(hang=True)) as seen:
        trio.run(main, seen.base)


def test_many_calls_are_in_flight_at_once() -> None:
    import threading

    meeting = threading.Barrier(32)

    def together(_: int) -> Scripted:
        meeting.wait(20)
        return says("fine")

    async def main(base: str) -> int:
        done = 0

        async def one(number: int) -> None:
            nonlocal done
            await gateway.complete(ASK, number=number, attempt=0)
            done += 1

        async with Gateway([local(base)], 0, env={}) as gateway, trio.open_nursery() as nursery:
            for number in range(32):
                nursery.start_soon(one, number)
        return done

    with server(together) as seen:
        assert trio.run(main, seen.base) == 32


def test_one_hiccup_that_breaks_many_calls_at_once_ends_nothing() -> None:
    breaker = Breaker()
    began = [breaker.begin() for _ in range(100)]
    for each in began:
        breaker.failed(each, "reset", 0.0)
    assert breaker.failures == 1
    assert not breaker.open


@given(st.lists(st.booleans()))
def test_the_breaker_opens_exactly_after_ten_in_a_row(answers: Sequence[bool]) -> None:
    breaker, row = Breaker(), 0
    for answered in answers:
        began = breaker.begin()
        if answered:
            breaker.answered()
        else:
            breaker.failed(began, "no", 0.0)
        row = 0 if answered else row + 1
        assert breaker.open == (row >= LIMIT)


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("", None), ("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None)]
)
def test_retry_after_is_read_or_ignored(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header) == seconds


def test_a_clock_that_is_off_does_not_shorten_the_wait() -> None:
    now = time.time() - 3600
    assert seconds_to_wait(formatdate(now + 30, usegmt=True), formatdate(now, usegmt=True)) == 30.0


def test_a_missing_key_is_one_line_that_names_the_variable() -> None:
    [error] = ask(ModelSpec("anthropic/claude-haiku-4-5"))
    assert isinstance(error, MissingKey)
    assert "ANTHROPIC_API_KEY" in str(error)
    [named] = ask(local("http://127.0.0.1:9/v1", api_key_env="MY_KEY"))
    assert "MY_KEY" in str(named)


def test_operators_need_a_model_or_a_key() -> None:
    assert "no model is configured" in (unavailable((), {}) or "")
    assert unavailable((), {"ANTHROPIC_API_KEY": "x"}) is None
    assert unavailable((ModelSpec("tiny", api_base="http://127.0.0.1:9/v1"),), {}) is None
    assert "OPENAI_API_KEY" in (unavailable((ModelSpec("gpt-5-mini"),), {}) or "")
    assert unavailable((ModelSpec("somebody/else"),), {}) is None
    assert default_pool({}) == ()
    assert missing_key(ModelSpec("gemini/x"), {"GOOGLE_API_KEY": "x"}) is None


def test_a_pool_without_weight_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="weight"):
        Gateway([ModelSpec("tiny", weight=0)], 0)


def test_importing_the_package_imports_no_client_library() -> None:
    code = "import sys, evolve.models; print({'litellm', 'aiohttp', 'openai', 'httpx'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


LITELLM = """
import json, sys, trio
from evolve.models import Gateway, ModelSpec
from archives.errors import ModelError

async def pause(seconds):
    await trio.lowlevel.checkpoint()

async def main():
    out = []
    async with Gateway([ModelSpec("openai/none-such", timeout=20)], 0, pause=pause) as gateway:
        for number in range(int(sys.argv[1])):
            try:
                reply = await gateway.complete([{"role": "user", "content": "x"}], number=number, attempt=0)
                out.append([reply.text, reply.usd, [call.error for call in reply.calls]])
            except ModelError as error:
                out.append([type(error).__name__, str(error), len(error.calls)])
    print(json.dumps(out))

trio.run(main)
"""


def through_litellm(base: str, times: int, **env: str) -> tuple[list[list[object]], str]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    environment |= {"OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": base, "OPENAI_API_BASE": base, **env}
    result = subprocess.run(
        [sys.executable, "-c", LITELLM, str(times)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


@pytest.mark.slow
def test_litellm_is_asked_once_per_attempt_and_prints_nothing() -> None:
    script = [
        fails(429, Retry_After="1"),
        fails(500),
        says("fine"),
        fails(400, "too long for not-a-key"),
        Scripted(reset=True),
    ]
    with server(lambda n: script[n] if n < len(script) else says("again")) as seen:
        (first, second, third), stderr = through_litellm(seen.base, 3)
    assert first[0] == "fine"
    assert [bool(error) for error in first[2]] == [True, True, False]  # type: ignore[attr-defined]
    assert second[0] == "CallFailed"
    assert "too long for ***" in str(second[1])
    assert third[0] == "again"
    assert len(seen.bodies) == 6
    assert stderr == ""


@pytest.mark.slow
def test_a_dead_address_in_the_environment_is_named_through_litellm() -> None:
    port = refused_port()
    results, stderr = through_litellm(f"http://127.0.0.1:{port}/v1", 2)
    assert results[-1][0] == "NoModelAnswers"
    assert f"127.0.0.1:{port}" in str(results[-1][1])
    assert "connection refused" in str(results[-1][1])
    assert stderr == ""
