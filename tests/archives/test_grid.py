"""What the quality-diversity archive promises, with pyribs as an oracle and a state machine of invariants."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from archives.binning import MISSING, OTHER, SAMPLE, Binning
from archives.errors import ConfigError
from archives.grid import Axis, Entry, Grid
from evolve.randomness import rng

FIXED = (Axis("x", bins=4, low=0.0, high=1.0), Axis("y", bins=5, low=-1.0, high=2.0))
ADAPTIVE = (Axis("x", bins=4), Axis("y", bins=3))


def entry(name: str, merit: float, count: int = 1, **measures: float | str) -> Entry:
    return Entry(name, merit, measures, count)


def drawn(count: int, seed: int = 1) -> list[Entry]:
    return [
        entry(f"c{i}", draw.random(), x=draw.random(), y=draw.gauss(0, 1))
        for i in range(count)
        for draw in [rng(seed, i, "entry")]
    ]


def test_the_first_of_a_cell_is_new_a_better_one_improves_it_and_a_worse_one_is_rejected() -> None:
    grid = Grid(FIXED)
    assert grid.add(entry("a", 1.0, x=0.1, y=0.0)).status == "new"
    assert grid.add(entry("b", 2.0, x=0.1, y=0.0)).status == "improved"
    assert grid.add(entry("c", 1.5, x=0.1, y=0.0)).status == "rejected"
    assert [held.candidate for held in grid.elites()] == ["b"]


def test_a_tie_keeps_the_incumbent() -> None:
    grid = Grid(FIXED)
    grid.add(entry("a", 1.0, x=0.1, y=0.0))
    assert grid.add(entry("b", 1.0, x=0.1, y=0.0)).status == "rejected"
    assert [held.candidate for held in grid.elites()] == ["a"]


def test_a_deep_cell_holds_its_best_in_order_of_merit_then_of_arrival() -> None:
    grid = Grid((), depth=3)
    merits = {"a": 1, "b": 3, "c": 2, "d": 3, "e": 0}
    statuses = [grid.add(entry(name, merit)).status for name, merit in merits.items()]
    assert statuses == ["new", "improved", "kept", "kept", "rejected"]
    assert [held.candidate for held in grid.cells()[()]] == ["b", "d", "c"]


@pytest.mark.parametrize("merit", [math.nan, math.inf, -math.inf])
def test_a_merit_that_is_not_finite_is_refused(merit: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        entry("a", merit)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bins": 0},
        {"low": 1.0, "high": 1.0},
        {"low": math.nan},
        {"low": -1e308, "high": 1e308},
        {"values": ()},
        {"values": ("a", "a")},
    ],
)
def test_an_axis_that_makes_no_sense_is_one_clear_line(wrong: dict) -> None:
    with pytest.raises(ConfigError, match="measure 'x'") as caught:
        Axis("x", **wrong)
    assert "\n" not in str(caught.value)


def test_a_grid_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        Grid([Axis("x"), Axis("x")])
    with pytest.raises(ConfigError, match="depth"):
        Grid([], depth=0)
    with pytest.raises(ConfigError, match="noise"):
        Grid([], noise=math.nan)
    with pytest.raises(ValueError, match="at least 1"):
        entry("a", 1.0, count=0)


@pytest.mark.parametrize("value", [math.nan, None, [1], b"x"])
def test_a_measure_that_is_missing_or_no_number_has_a_bin_of_its_own(value: object) -> None:
    grid = Grid(FIXED)
    grid.add(entry("a", 1.0, x=0.5, y=0.0))
    assert grid.add(Entry("b", 0.0, {"y": 0.0, "x": value})).cell == (MISSING, 1)  # type: ignore[dict-item]
    assert grid.add(Entry("c", 0.5, {"y": 0.0})).status == "improved"


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_no_measure_of_any_kind_breaks_the_grid(value: object) -> None:
    axes = [Axis("x"), Axis("y", bins=3, low=0, high=1), Axis("z", values=("a", "1")), Axis("w", low=0.0)]
    grid = Grid(axes)
    for i in range(3):
        measures = dict.fromkeys("xyzw", value)
        assert grid.add(Entry(f"c{i}", i, measures)).cell == grid.cell_of(measures)  # type: ignore[arg-type]
    assert 0.0 <= grid.coverage <= 1.0


def test_declared_categories_have_bins_and_anything_else_shares_one() -> None:
    grid = Grid([Axis("kind", values=("greedy", "exact", "3"))])
    cells = [grid.cell_of({"kind": value}) for value in ("greedy", "exact", 3.0, "odd", 7)]
    assert cells == [("greedy",), ("exact",), ("3",), (OTHER,), (OTHER,)]


def test_text_without_declared_categories_gets_bins_as_it_comes_up_to_a_limit() -> None:
    grid = Grid([Axis("kind", bins=2)])
    cells = [grid.add(entry(kind, 1.0, kind=kind)).cell for kind in ("a", "b", "c", "a")]
    assert cells == [("a",), ("b",), (OTHER,), ("a",)]
    assert grid.coverage == 1.0


def test_numbers_and_text_mix_on_one_axis() -> None:
    grid = Grid([Axis("x", bins=2, low=0, high=1)])
    for name, value in (("a", 0.9), ("b", "none"), ("c", 0.1)):
        grid.add(entry(name, 1.0, x=value))
    assert list(grid.cells()) == [(0,), (1,), ("none",)]


def test_values_beyond_fixed_ends_fall_into_the_outermost_bins() -> None:
    grid = Grid([Axis("x", bins=10, low=0, high=1)])
    cells = [grid.cell_of({"x": x})[0] for x in (-math.inf, -5, 0, 0.29, 0.3, 1, 7, math.inf)]
    assert cells == [0, 0, 0, 2, 3, 9, 9, 9]


def test_adaptive_bins_share_the_distinct_values_whatever_their_scale_and_number() -> None:
    grid = Grid([Axis("x", bins=5)])
    for i in range(400):
        grid.add(entry(f"same{i}", 0.0, x=1.0))
    for i in range(100):
        grid.add(entry(f"c{i}", 0.0, x=10.0 ** (i / 10)))
    assert grid.coverage == 1.0
    counts = [0] * 5
    for i in range(100):
        counts[int(grid.cell_of({"x": 10.0 ** (i / 10)})[0])] += 1
    assert max(counts) <= 45 and min(counts) >= 8


def test_adaptive_edges_follow_a_search_that_drifts() -> None:
    grid = Grid([Axis("x", bins=8)])
    for i in range(6 * SAMPLE):
        grid.add(entry(f"c{i}", float(i), x=float(i)))
    edges = grid.edges("x")
    assert len(edges) == 7 and edges == tuple(sorted(edges))
    assert edges[-1] > 4.5 * SAMPLE
    assert len(grid.elites()) == 8, "an entry that was outdone in a coarse cell comes back in a finer one"


def test_edges_rest_while_the_data_do_not_drift() -> None:
    binning = Binning(Axis("x", bins=8))
    moves = [binning.observe(rng(3, i, "x").gauss(0, 1)) for i in range(3000)]
    assert any(moves[:60])
    assert sum(moves[60:]) <= 12


def test_moving_the_edges_keeps_the_best_of_every_new_cell_and_the_best_of_all() -> None:
    grid = Grid(ADAPTIVE)
    seen: list[Entry] = []
    for one in drawn(300):
        grid.add(one)
        seen.append(one)
        bests: dict[tuple[int | str, ...], float] = {}
        for e in seen:
            cell = grid.cell_of(e.measures)
            bests[cell] = max(bests.get(cell, -math.inf), e.merit)
        assert {cell: held[0].merit for cell, held in grid.cells().items()} == bests
        assert grid.best is not None and grid.best.merit == max(e.merit for e in seen)


def test_an_elite_whose_merit_falls_gives_way_to_the_runner_up() -> None:
    grid = Grid(FIXED)
    place = {"x": 0.1, "y": 0.0}
    grid.add(Entry("lucky", 3.0, place))
    grid.add(Entry("steady", 2.0, place))
    assert grid.add(Entry("lucky", 1.0, place, 2)).status == "rejected"
    assert [held.candidate for held in grid.elites()] == ["steady"]
    assert grid.add(Entry("lucky", 2.5, place, 3)).status == "improved"


def test_an_update_that_stays_the_best_is_kept_or_improved_but_never_new() -> None:
    grid = Grid(FIXED)
    place = {"x": 0.1, "y": 0.0}
    grid.add(Entry("a", 3.0, place))
    assert grid.add(Entry("a", 2.0, place, 2)).status == "kept"
    assert grid.add(Entry("a", 4.0, place, 3)).status == "improved"


def test_an_update_may_move_a_candidate_to_another_cell() -> None:
    grid = Grid(FIXED)
    grid.add(entry("a", 3.0, x=0.1, y=0.0))
    assert grid.add(entry("a", 3.0, x=0.9, y=0.0)).status == "new"
    assert list(grid.cells()) == [(3, 1)]


def test_the_version_grows_exactly_when_what_is_held_changes() -> None:
    grid = Grid(FIXED)
    for one in drawn(200):
        version, content = grid.version, grid.cells()
        grid.add(one)
        assert (grid.version > version) == (grid.cells() != content)
    version = grid.version
    grid.add(grid.elites()[0])
    assert grid.version == version


def test_a_later_write_into_the_callers_measures_changes_nothing() -> None:
    measures: dict[str, float | str] = {"x": 0.1, "y": 0.0}
    grid = Grid(FIXED)
    grid.add(Entry("a", 1.0, measures))
    measures["x"] = 0.9
    assert grid.elites()[0].measures["x"] == 0.1


@pytest.mark.parametrize("axes", [FIXED, ADAPTIVE, ()])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_rebuilt_grid_equals_the_one_that_grew(axes: tuple[Axis, ...], noise: float) -> None:
    entries = drawn(250)
    entries += [replace(one, merit=one.merit / 2, count=2) for one in entries[::7]]
    grown = Grid(axes, depth=2, noise=noise)
    for one in entries:
        grown.add(one)
    rebuilt = Grid.rebuild(axes, 2, entries, noise=noise)
    assert list(rebuilt.cells().items()) == list(grown.cells().items())
    assert rebuilt.version == grown.version and rebuilt.qd_score() == grown.qd_score()


def test_under_noise_three_good_runs_beat_one_lucky_run() -> None:
    def elite(noise: float) -> str:
        grid = Grid([Axis("x", bins=1, low=0, high=1)], noise=noise)
        for i in range(40):
            grid.add(entry(f"c{i}", rng(5, i, "merit").gauss(0.0, 0.11), x=0.5))
        grid.add(entry("steady", 0.4, count=6, x=0.5))
        grid.add(entry("lucky", 0.45, count=1, x=0.5))
        return grid.elites()[0].candidate

    assert elite(noise=0.0) == "lucky"
    assert elite(noise=0.1) == "steady"


def test_noise_that_becomes_known_later_leads_to_the_same_grid() -> None:
    entries = drawn(150)
    late = Grid.rebuild(FIXED, 2, entries)
    late.noise = 0.3
    late.add(entry("last", 0.9, x=0.1, y=0.1))
    early = Grid.rebuild(FIXED, 2, [*entries, entry("last", 0.9, x=0.1, y=0.1)], noise=0.3)
    assert late.cells() == early.cells() and late.qd_score() == early.qd_score()
    with pytest.raises(ConfigError, match="noise"):
        late.noise = math.inf


def test_shrinkage_is_the_posterior_mean_of_the_formula() -> None:
    grid = Grid((), noise=0.5)
    grid._prior.centre, grid._weight = 2.0, 0.5**2 / 0.3**2
    n, y, s, m, t = 3, 5.0, 0.5, 2.0, 0.3
    posterior = (n * y / s**2 + m / t**2) / (n / s**2 + 1 / t**2)
    assert grid.estimate(entry("a", y, count=n)) == pytest.approx(posterior)


def test_at_equal_cost_shrunk_deep_cells_record_elites_closer_to_the_truth_than_keeping_the_maximum() -> None:
    def bias(depth: int, noise: float) -> float:
        grid = Grid([Axis("x", bins=20, low=0, high=1)], depth=depth, noise=noise)
        truth = {f"c{i}": rng(9, i, "truth").gauss(0, 0.05) for i in range(600)}
        for i, (name, value) in enumerate(truth.items()):
            grid.add(entry(name, rng(9, i, "run").gauss(value, 0.1), x=rng(9, i, "x").random()))
        return sum(grid.estimate(e) - truth[e.candidate] for e in grid.elites()) / len(grid.elites())

    assert bias(1, 0.0) > 0.1
    assert abs(bias(4, 0.1)) < 0.05


def test_rearrangements_become_rare_as_a_campaign_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    rearrange = Grid._rearrange

    def counted(self: Grid) -> None:
        done.append(len(self._in_order))
        rearrange(self)

    monkeypatch.setattr(Grid, "_rearrange", counted)
    grid = Grid(ADAPTIVE, noise=0.1)
    for one in drawn(6000):
        grid.add(one)
    assert sum(done) <= 12 * 6000, "entries re-arranged, in all, per entry added"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-8, 8).map(lambda i: i / 4),
            st.integers(-2, 10).map(lambda i: i / 8),
            st.one_of(st.integers(-6, 10).map(lambda i: i / 4), st.floats(-2, 3, width=16)),
        ),
        max_size=60,
    )
)
def test_depth_one_without_noise_agrees_with_pyribs(points: list[tuple[float, float, float]]) -> None:
    ribs = pytest.importorskip("ribs.archives")
    oracle = ribs.GridArchive(solution_dim=1, dims=[4, 5], ranges=[(0.0, 1.0), (-1.0, 2.0)])
    grid = Grid(FIXED)
    words = {0: "rejected", 1: "improved", 2: "new"}
    for i, (merit, x, y) in enumerate(points):
        told = oracle.add_single([float(i)], merit, [x, y])
        placed = grid.add(entry(str(i), merit, x=x, y=y))
        assert placed.status == words[int(told["status"])]
        assert placed.cell == tuple(int(k) for k in oracle.int_to_grid_index(oracle.index_of([[x, y]]))[0])
    data = oracle.data(["solution", "index"])
    theirs = {
        tuple(int(k) for k in oracle.int_to_grid_index([index])[0]): str(int(solution[0]))
        for solution, index in zip(data["solution"], data["index"], strict=True)
    }
    assert {cell: held[0].candidate for cell, held in grid.cells().items()} == theirs
    assert grid.coverage == pytest.approx(float(oracle.stats.coverage))
    assert grid.qd_score() == pytest.approx(float(oracle.stats.qd_score))


class GridMachine(RuleBasedStateMachine):
    """Any sequence of additions and updates, compared with a model that remembers everything."""

    def __init__(self) -> None:
        super().__init__()
        self.axes = (Axis("x", bins=3), Axis("k", values=("a", "b")), Axis("y", bins=2, low=0, high=1))
        self.grid = Grid(self.axes, depth=2)
        self.history: list[Entry] = []
        self.latest: dict[str, Entry] = {}

    def put(self, one: Entry) -> None:
        before = self.grid.cells()
        placed = self.grid.add(one)
        self.history.append(one)
        self.latest[one.candidate] = one
        held = self.grid.cells().get(placed.cell, ())
        assert (placed.status == "rejected") == (one not in held)
        assert placed.status != "improved" or held[0] == one
        assert placed.status != "new" or held == (one,)
        if placed.status == "rejected":
            assert all(other.merit >= one.merit for other in held)
        assert self.grid.version > 0 or before == self.grid.cells()

    @rule(
        merit=st.integers(-5, 5).map(float),
        x=st.one_of(st.integers(-4, 40).map(float), st.none()),
        k=st.sampled_from(["a", "b", "c"]),
        y=st.floats(-0.5, 1.5),
    )
    def add(self, merit: float, x: float | None, k: str, y: float) -> None:
        measures: dict[str, float | str] = {"k": k, "y": y} | ({} if x is None else {"x": x})
        self.put(Entry(f"c{len(self.latest)}", merit, measures))

    @precondition(lambda self: self.grid.elites())
    @rule(which=st.integers(0, 99), change=st.integers(-3, 3).map(float))
    def update(self, which: int, change: float) -> None:
        elites = self.grid.elites()
        old = elites[which % len(elites)]
        self.put(replace(old, merit=old.merit + change, count=old.count + 1))

    @invariant()
    def every_entry_is_the_latest_and_sits_in_its_own_cell_only(self) -> None:
        held = [(cell, one) for cell, entries in self.grid.cells().items() for one in entries]
        assert len({one.candidate for _, one in held}) == len(held)
        for cell, one in held:
            assert self.latest[one.candidate] == one and self.grid.cell_of(one.measures) == cell

    @invariant()
    def cells_are_sorted_bounded_and_not_empty(self) -> None:
        for entries in self.grid.cells().values():
            merits = [one.merit for one in entries]
            assert 1 <= len(merits) <= 2 and merits == sorted(merits, reverse=True)

    @invariant()
    def each_cell_holds_exactly_the_best_of_all_that_was_ever_added(self) -> None:
        first = {name: i for i, name in enumerate(self.latest)}
        cells: dict[tuple[int | str, ...], list[Entry]] = {}
        for one in sorted(self.latest.values(), key=lambda e: (-e.merit, first[e.candidate])):
            cells.setdefault(self.grid.cell_of(one.measures), []).append(one)
        assert self.grid.cells() == {cell: tuple(entries[:2]) for cell, entries in cells.items()}

    @invariant()
    def coverage_is_a_share(self) -> None:
        assert 0.0 <= self.grid.coverage <= 1.0

    def teardown(self) -> None:
        again = Grid.rebuild(self.axes, 2, self.history)
        assert list(again.cells().items()) == list(self.grid.cells().items())
        assert again.version == self.grid.version


TestGridMachine = GridMachine.TestCase
TestGridMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
