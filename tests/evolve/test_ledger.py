"""Money: reserved before a call, booked after it, never exceeded unseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_server import Scripted, fails, says, server

from archives.journal import Journal
from archives.reader import Reader
from archives.records import Call, Prompt
from evolve.budget import Budget
from evolve.models import BudgetSpent, CallFailed, Gateway, ModelSpec
from evolve.models.ledger import Ledger
from evolve.models.tokens import FIRST_MARGIN, of_messages

ASK = [{"role": "user", "content": "hello"}]
WORTH = st.integers(0, 60)
SCHEDULE = st.lists(
    # pause before it, the most it may cost, share of that it does cost, how it ends, how long it takes
    st.tuples(
        st.integers(0, 3),
        WORTH,
        st.integers(0, 100),
        st.sampled_from(["answered", "failed", "lost", "cancelled"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=12,
)


def call(tokens: int, usd: float | None = None) -> Call:
    return Call(0, 1, "m", "edit", prompt_tokens=tokens, usd=usd)


@settings(max_examples=1000, deadline=None)
@given(limit=st.integers(0, 200), schedule=SCHEDULE)
def test_no_schedule_of_calls_spends_more_than_the_limit(
    limit: int, schedule: list[tuple[int, int, int, str, int]]
) -> None:
    """Dollars are a tenth of the tokens; what one may cost is the truth, so nothing may overshoot at all."""
    budget = Budget({"tokens": limit, "usd": limit / 10})
    ledger = Ledger(budget)
    billed: list[int] = []
    charged: list[int] = []
    refused: list[int] = []

    def sound() -> None:
        promised = budget.spent.get("tokens", 0) + budget.reserved.get("tokens", 0)
        assert sum(billed) <= promised <= limit + 1e-6

    async def one(pause: int, most: int, share: int, end: str, takes: int) -> None:
        await trio.sleep(pause)
        try:
            begun = await ledger.begin(call(most, most / 10))
        except BudgetSpent:
            refused.append(most)
            assert most > limit - sum(charged)
            return
        sound()
        used = most * share // 100
        billed.append(used)
        await trio.sleep(takes)
        if end in ("lost", "cancelled"):
            ledger.lose(begun, end)
            charged.append(most)
        else:
            charged.append(used)
            await ledger.end(replace(begun, prompt_tokens=used, usd=used / 10))
        sound()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for step in schedule:
                nursery.start_soon(one, *step)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert len(billed) + len(refused) == len(schedule)
    assert budget.reserved.get("tokens", 0) == 0
    assert not ledger._held


def test_a_call_that_does_not_fit_waits_for_what_others_give_back() -> None:
    async def main() -> list[str]:
        ledger, order = Ledger(Budget({"tokens": 100})), []
        first = await ledger.begin(call(80))

        async def second() -> None:
            begun = await ledger.begin(call(50))
            order.append("second begins")
            await ledger.end(begun)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            await trio.testing.wait_all_tasks_blocked()
            order.append("first ends")
            await ledger.end(replace(first, prompt_tokens=10))
        with pytest.raises(BudgetSpent, match=r"100 tokens is used up: 60 spent, one more call may take 50$"):
            await ledger.begin(call(50))
        return order

    assert trio.run(main) == ["first ends", "second begins"]


def test_a_budget_below_one_call_says_what_to_change() -> None:
    with pytest.raises(BudgetSpent, match="raise it, or set a lower max_tokens"):
        trio.run(Ledger(Budget({"usd": 0.01})).begin, call(10, 0.02))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "campaign.db")


def booked(journal: Journal) -> list[Call]:
    with Reader(journal.path) as reader:
        return list(reader.calls())


def test_a_call_is_written_down_before_it_is_made_and_again_when_it_has_ended(journal: Journal) -> None:
    async def main() -> None:
        ledger = Ledger(None, journal, following=7)
        begun = await ledger.begin(call(100, 2.0), Prompt("sha256:1", tuple(ASK)))
        [row] = booked(journal)
        assert (row.id, row.state, row.prompt_tokens, row.usd) == (7, "started", 100, 2.0)
        await ledger.end(replace(begun, state="answered", prompt_tokens=60, usd=1.0))

    with journal:
        trio.run(main)
        [row] = booked(journal)
        assert (row.id, row.state, row.prompt_tokens, row.usd) == (7, "answered", 60, 1.0)
        with Reader(journal.path) as reader:
            kept = reader.prompt("sha256:1")
            assert kept is not None
            assert list(kept.messages) == ASK
            assert reader.spent_on_models() == (60, 1.0)


def asked(
    base: str, ledger: Ledger, times: int = 1, width: int = 1, **spec: object
) -> list[BaseException | None]:
    """Ask `times` times, `width` at a time; what went wrong each time."""
    model = ModelSpec("tiny", api_base=base, **spec)  # type: ignore[arg-type]
    ended: list[BaseException | None] = []

    async def one(gateway: Gateway, number: int, limit: trio.CapacityLimiter) -> None:
        async with limit:
            try:
                await gateway.complete(ASK, number=number, attempt=0, operator="edit")
                ended.append(None)
            except (CallFailed, BudgetSpent) as error:
                ended.append(error)

    async def main() -> None:
        async with Gateway([model], 0, env={}, ledger=ledger, pause=_no_pause) as gateway:
            limit = trio.CapacityLimiter(width)
            async with trio.open_nursery() as nursery:
                for number in range(1, times + 1):
                    nursery.start_soon(one, gateway, number, limit)

    trio.run(main)
    return ended


async def _no_pause(seconds: float) -> None:
    await trio.lowlevel.checkpoint()


def test_calls_end_with_the_budget_and_the_bill_is_exact(journal: Journal) -> None:
    """Each call is billed 100 + 10 tokens, $0.00012; the reply may have 50 tokens."""
    budget = Budget({"tokens": 1200, "usd": 1.0})
    with journal, server(lambda _: says("fine")) as seen:
        ended = asked(seen.base, Ledger(budget, journal), 20, 4, max_tokens=50, price_in=1, price_out=2)
        made = len(seen.bodies)
        assert seen.bodies[0]["max_tokens"] == 50
    assert sum(1 for each in ended if each is None) == made
    assert all(isinstance(each, BudgetSpent) for each in ended if each)
    assert budget.spent == {"tokens": 110 * made, "usd": pytest.approx(0.00012 * made)}
    assert 1200 - 110 - 160 < 110 * made <= 1200
    assert sum(row.prompt_tokens + row.completion_tokens for row in booked(journal)) == 110 * made


def test_a_reply_is_bounded_where_a_budget_must_hold_and_free_where_none_does() -> None:
    with server(lambda _: says("fine")) as seen:
        asked(seen.base, Ledger(Budget({"tokens": 10**6})))
        asked(seen.base, Ledger(Budget({"tokens": 10**6})), context=4096)
        asked(seen.base, Ledger(Budget({"proposals": 5})))
    first, second, third = seen.bodies
    assert first["max_tokens"] == 16_384
    assert second["max_tokens"] < 4096
    assert "max_tokens" not in third


ENDS = {
    "an error with a bill": (says("", refusal="no"), "failed", 110),
    "no answer at all": (fails(400), "failed", 0),
    "cut off in the middle": (Scripted(body=says("fine").body[:40]), "lost", None),
    "a broken connection": (Scripted(reset=True), "lost", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_is_billed_for_a_failed_call_is_charged_and_what_nobody_knows_at_its_most(
    name: str, journal: Journal
) -> None:
    answer, state, tokens = ENDS[name]
    most = round(of_messages(ASK) * FIRST_MARGIN + 0.5) + 50
    with journal, server(lambda _: answer) as seen:
        ledger = Ledger(Budget({"tokens": 10**6}), journal)
        asked(seen.base, ledger, max_tokens=50)
        rows = booked(journal)
    assert {row.state for row in rows} == {state}
    assert {row.prompt_tokens + row.completion_tokens for row in rows} == {most if tokens is None else tokens}
    assert ledger.budget.spent["tokens"] == len(rows) * (most if tokens is None else tokens)


def test_a_cancelled_call_is_lost_at_the_most_it_may_cost(journal: Journal) -> None:
    ledger = Ledger(Budget({"tokens": 10**6}), journal)

    async def main(base: str) -> None:
        model = ModelSpec("tiny", api_base=base, max_tokens=50)
        async with Gateway([model], 0, env={}, ledger=ledger) as gateway, trio.open_nursery() as nursery:
            nursery.start_soon(lambda: gateway.complete(ASK, number=1, attempt=0))
            await trio.to_thread.run_sync(seen.arrived.wait, 5)
            assert gateway.in_flight == 1
            nursery.cancel_scope.cancel()
        assert gateway.in_flight == 0

    with journal, server(lambda _: Scripted(hang=True)) as seen:
        trio.run(main, seen.base)
        journal.write()
        [row] = booked(journal)
    assert (row.state, row.error, row.completion_tokens) == ("lost", "cancelled", 50)
    assert ledger.budget.reserved["tokens"] == 0


def test_tokens_that_a_server_does_not_count_are_estimated() -> None:
    uncounted = says("four little words here").body.replace(b'"usage"', b'"other"')
    with server(lambda _: Scripted(body=uncounted)) as seen:
        ledger = Ledger(Budget({"tokens": 10**6}))
        asked(seen.base, ledger)
    assert ledger.budget.spent["tokens"] > of_messages(ASK)
