"""Widths that follow what is measured: they find a server's capacity, give way at once, and never stand still at nothing."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.knee import Knee
from evolve.widths import MOST, Answer, Downstream, EvaluatorWidth, Load, ModelWidth


@dataclass
class Simulated:
    """What came of asking a simulated server as often as its width allowed.

    The server works on `capacity` requests at a time, in their order; its times are log-normal.
    """

    capacity: float
    requests: int
    seed: int
    start: float = 0.0
    after: Downstream = field(default_factory=Downstream)
    widths: list[int] = field(default_factory=list)
    idle: float = 0.0
    queued: float = 0.0
    elapsed: float = 0.0
    ended: float = 0.0

    def run(self, width: ModelWidth) -> Simulated:
        draw, now, sent, busy = random.Random(self.seed), self.start, 0, 0
        waiting: list[tuple[float, int]] = []
        ends: list[tuple[float, float, int]] = []
        while sent < self.requests or ends:
            while sent < self.requests and busy + len(waiting) < width.width:
                sent += 1
                waiting.append((now, busy + len(waiting) + 1))
            while waiting and busy < self.capacity:
                began, among = waiting.pop(0)
                heapq.heappush(ends, (now + math.exp(draw.gauss(0, 0.8)), began, among))
                busy += 1
            ended, began, among = heapq.heappop(ends)
            if sent < self.requests:
                self.elapsed += ended - now
                self.idle += (ended - now) * max(0.0, self.capacity - busy)
                self.queued += (ended - now) * len(waiting)
            now, busy = ended, busy - 1
            width.hear(Answer(began, among, now - began), self.after)
            self.widths.append(width.width)
        self.ended = now
        return self


@pytest.mark.parametrize("capacity", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("seed", range(3))
def test_a_server_of_limited_capacity_is_kept_busy_with_a_short_queue(capacity: int, seed: int) -> None:
    found = Simulated(capacity, 100 + 60 * capacity, seed).run(ModelWidth())
    settled = sorted(found.widths[len(found.widths) // 2 :])
    assert 0.8 * capacity <= settled[len(settled) // 2] <= 2 * capacity + 7
    assert found.idle / found.elapsed < 0.15 * capacity
    assert found.queued / found.elapsed < capacity + 7


def test_a_server_that_works_on_more_than_before_is_found_out_again() -> None:
    width = ModelWidth()
    before = Simulated(8, 600, 1).run(width)
    assert width.width < 20
    Simulated(40, 4000, 2, start=before.ended).run(width)
    assert width.width >= 30


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_limits_it_the_width_grows_to_the_most_there_may_be(seed: int) -> None:
    found = Simulated(math.inf, 3000, seed).run(ModelWidth())
    settled = sorted(found.widths[len(found.widths) // 2 :])
    assert max(found.widths) == MOST
    assert settled[len(settled) // 2] > MOST // 2


def test_being_told_to_slow_down_cuts_the_width_at_once_and_only_once_for_what_was_under_way_together() -> (
    None
):
    width = ModelWidth(first=100)
    for _ in range(50):
        width.hear(Answer(0.0, 100, 1.0, "rate"), Downstream())
    assert width.width == 70
    assert "slow down" in width.because
    width.hear(Answer(2.0, 70, 1.0, "rate"), Downstream())
    assert width.width == 49


def test_after_a_cut_the_width_grows_by_one_a_round() -> None:
    width = ModelWidth(first=10)
    width.hear(Answer(0.0, 10, 1.0, "rate"), Downstream())
    seen = []
    for turn in range(1, 60):
        width.hear(Answer(float(turn), width.width, 1.0), Downstream())
        seen.append(width.width)
    assert seen[0] == 7
    assert {after - before for before, after in itertools.pairwise(seen)} == {0, 1}
    assert seen[-1] > 10


def test_the_width_shrinks_while_proposals_pile_up_in_front_of_the_evaluator() -> None:
    width = ModelWidth(first=64)
    Simulated(math.inf, 1000, 1, after=Downstream(waiting=20, evaluators=2)).run(width)
    assert width.width < 8
    assert width.because == "proposals wait for the evaluator"


@pytest.mark.parametrize(("share", "grows"), [(0.3, True), (0.6, False)])
def test_the_width_does_not_grow_while_most_proposals_are_overtaken(share: float, grows: bool) -> None:
    width = ModelWidth(first=8)
    Simulated(math.inf, 400, 1, after=Downstream(overtaken=share)).run(width)
    assert (width.width > 8) is grows


def test_a_width_that_is_not_used_does_not_grow() -> None:
    width = ModelWidth(first=8)
    for turn in range(200):
        width.hear(Answer(float(turn), 3, 0.5), Downstream())
    assert width.width == 8


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["answered", "rate", "timeout"]),
            st.integers(1, 300),
            st.floats(0, 1e4),
            st.integers(0, 50),
            st.floats(0, 1),
        ),
        max_size=150,
    )
)
def test_a_width_is_always_a_number_of_requests_that_may_be_made(
    events: list[tuple[str, int, float, int, float]],
) -> None:
    width = ModelWidth()
    for turn, (kind, among, seconds, waiting, overtaken) in enumerate(events):
        before = width.width
        answer = Answer(float(turn), among, seconds, kind)  # type: ignore[arg-type]
        width.hear(answer, Downstream(waiting, 2, overtaken))
        assert 1 <= width.width <= MOST
        assert width.width <= 2 * before
        assert width.because


@given(
    st.lists(st.tuples(st.integers(1, 256), st.floats(0, 1e6)), max_size=200),
)
def test_a_knee_lies_among_the_numbers_that_were_under_way(answers: list[tuple[int, float]]) -> None:
    knee = Knee()
    for among, seconds in answers:
        knee.hear(among, seconds)
    numbers = [among for among, _ in answers]
    assert knee.capacity is None or 0.95 * min(numbers) <= knee.capacity <= 1.05 * max(numbers)


def test_answers_that_scatter_without_a_queue_have_no_knee() -> None:
    draw = random.Random(5)
    believed = 0
    for _ in range(100):
        knee = Knee()
        for among in (4, 8, 16, 32, 64):
            for _ in range(16):
                knee.hear(among, math.exp(draw.gauss(0, 0.8)))
        believed += knee.capacity is not None
    assert believed <= 5


def looks(width: EvaluatorWidth, times: int, share: float, waiting: int = 5, **more: float) -> None:
    """Evaluations of a second each, of which `share` is processor time."""
    for _ in range(times):
        width.look(Load(width.width, width.width, width.width * share, waiting=waiting, **more))  # type: ignore[arg-type]


def test_evaluations_that_mostly_wait_get_company_up_to_a_limit() -> None:
    width = EvaluatorWidth(4)
    looks(width, 100, share=0.02)
    assert width.width == 16


@pytest.mark.parametrize(
    ("share", "waiting", "machine"), [(0.9, 5, 0.1), (0.02, 0, 0.1), (0.02, 5, 0.9)], ids=str
)
def test_busy_processors_or_an_empty_queue_leave_one_evaluation_a_processor(
    share: float, waiting: int, machine: float
) -> None:
    width = EvaluatorWidth(4)
    looks(width, 100, share, waiting, machine=machine)
    assert width.width == 4


def test_evaluations_that_hinder_each_other_become_fewer() -> None:
    width = EvaluatorWidth(2)
    looks(width, 20, share=0.02)
    assert width.width == 8
    width.look(Load(8, 8 * 1.6, 0.1, waiting=5))
    assert (width.width, width.because) == (6, "evaluations hinder each other")


def test_an_evaluator_that_cannot_judge_gets_fewer_at_once_and_slowly_more_again() -> None:
    width = EvaluatorWidth(4)
    width.look(Load(1, 1.0, 0.9, refused=1))
    width.look(Load(0, 0.0, 0.0, scarce=True))
    assert (width.width, width.because) == (2, "memory is scarce")
    looks(width, 10, share=0.9)
    assert width.width == 4
