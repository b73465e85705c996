"""Tuning numbers: what is found, what is written, what the search promises."""

from __future__ import annotations

import ast
import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from operator_fakes import Bench, MemoryStore

from archives.records import Candidate
from evolve.operators import searchstate
from evolve.operators.base import Draft, Refused
from evolve.operators.coordinates import Axis, first_step
from evolve.operators.literals import Literal, find, skeleton, substitute
from evolve.operators.search import SEPARABLE_ABOVE, NumberSearch
from evolve.operators.tune import Tune
from evolve.randomness import key

SHAPE = b"LEFT = 1.0\nRIGHT = 1.5\nLOW = 0.2\nHIGH = 0.8\n\nNAMES = {'left', 'right'}\n"
POINT = (0.3, 1.7, -0.4, 2.2)


def texts(path: str, text: str) -> list[str]:
    data = text.encode()
    return [data[x.start : x.end].decode() for x in find(path, data)]


def shape_merit(files) -> float:
    names: dict[str, float] = {}
    exec(files["shape.py"], names)
    found = (names["LEFT"], names["RIGHT"], names["LOW"], names["HIGH"])
    return -sum((a - b) ** 2 for a, b in zip(found, POINT, strict=True))


def value_merit(files) -> float:
    return float(files["value.txt"].split()[0])


# What is found


def test_python_numbers_are_found_where_they_are_parameters():
    text = "GAP = 0.1\ndef f(a, b=0.3, *, c=-2):\n    return g(a, 4, k=1e-9)\n"
    assert texts("a.py", text) == ["0.1", "0.3", "-2", "4", "1e-9"]


@pytest.mark.parametrize(
    "text",
    [
        '"""Doc with 1.5."""\n',
        "x = a[3:5] + b[7]\n",
        "flag = True\n",
        '__version__ = "1.2.3"\nversion = (1, 2)\n',
        "import sys\nif sys.version_info >= (3, 8):\n    pass\n",
        'x = f"{y:10.3f}"\n',
        "def f(x: Literal[3]) -> A[4]: ...\n",
        "for i in range(1, n):\n    x += 1\n",
        "y = x ** 2\n",
        "y = x == 0 or x > 1\n",
        "mask = 0xFF\nbits = 1 << 4\n",
        "z = 3j\n",
        "big = 12345678901234567890\n",
        "broken = (5\n",
    ],
)
def test_what_is_no_parameter_is_left_alone(text):
    assert texts("a.py", text) == []


def test_positions_count_bytes_and_not_letters():
    assert texts("a.py", "größe = 'ä'; weite = 7.5  # é\nüber = 2.5\n") == ["7.5", "2.5"]


def test_windows_line_ends_and_a_byte_order_mark_shift_nothing():
    data = b"\xef\xbb\xbfA = 1.5\r\nB = 2.5\r\n"
    assert [data[x.start : x.end] for x in find("a.py", data)] == [b"1.5", b"2.5"]


def test_only_marked_blocks_are_touched_where_there_are_any():
    text = "A = 1.5\n# EVOLVE-BLOCK-START\nB = 2.5\n# EVOLVE-BLOCK-END\nC = 3.5\n"
    assert texts("a.py", text) == ["2.5"]
    assert texts("a.c", text.replace("#", "//")) == ["2.5"]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("value.txt", "10\n", ["10"]),
        ("value.txt", "12.0 third\n", ["12.0"]),
        ("a.toml", '[x.1]\nv = "1.2"\nn = 5 # 7\nratio = -0.5\nl = [1, 2.5]\n', ["5", "-0.5", "1", "2.5"]),
        ("a.yaml", "rate: 0.25\nversion: 1.2.3\nday: 2024-01-02\nat: 12:30\n# 4\n", ["0.25"]),
        ("a.json", '{"a1": 5, "b": [-2.5], "c": "3"}', ["5", "-2.5"]),
        (
            "a.c",
            "#define N 10\nfloat x = 0.5f; // 3\ny = a[2]-4; z = 0x1F; w1 = 7;\n",
            ["10", "0.5", "4", "7"],
        ),
        ("a.js", 'const k = 1e-3; s = "4"; /* 5 */\n', ["1e-3"]),
        ("solve.sh", "#!/bin/sh\nfactor=2\nread -r x < data 2>/dev/null\necho $1\n", ["2"]),
        ("a.txt", "007 1.2.3.4 v2 #12\n", []),
    ],
)
def test_other_texts_are_read_by_pattern(path, text, found):
    assert texts(path, text) == found


def test_binary_and_huge_files_hold_no_numbers():
    assert find("a.txt", b"1 \0 2") == ()
    assert find("a.txt", b"\xff 12") == ()
    assert find("a.png", b"12") == ()
    assert find("a.txt", b"1 " * 200_000) == ()


@pytest.mark.parametrize("path", ["a.py", "a.txt", "a.c"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_rewritten_file_has_the_same_skeleton_and_the_numbers_that_were_written(path, data):
    text = data.draw(
        st.sampled_from(
            [
                "A = 0.5\nB = -3\nC = f(2, k=1e-9) - 4 + x ** 0.5\nif C > 3:\n    C = -0.5 * (C - 1.5)\n",
                "a = [1.5, -2, 3]; b = a[0]-7; c = b -2.5; d = 5-b\n",
                "10\n",
                "x = -1.5 + +2.5 - -3.5\ny = (1.5).real; z = 2.5 if 3.5 < x else lambda q=4: q\n",
            ]
        )
    ).encode()
    literals = find(path, text)
    number = st.floats(-1e12, 1e12, allow_nan=False) | st.sampled_from([0.0, 1.0, -1.0, 1e-300, 0.1])
    values = [data.draw(number) for _ in literals]
    new, moved = substitute(text, literals, values)
    again = find(path, new)
    assert [(x.start, x.end, x.value, x.integer) for x in again] == [
        (x.start, x.end, x.value, x.integer) for x in moved
    ]
    assert [x.value for x in moved] == [x.fit(v) for x, v in zip(literals, values, strict=True)]
    assert skeleton(new, again) == skeleton(text, literals)
    if path == "a.py" and literals:
        ast.parse(new)


def test_an_unchanged_number_keeps_its_spelling():
    data = b"A = 1_000\nB = 1.50\n"
    new, _ = substitute(data, find("a.py", data), [1000, 2.5])
    assert new == b"A = 1_000\nB = 2.5\n"


# How far to move


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e9, 1e9, allow_nan=False), st.floats(-8, 8))
@example(5e-324, 1.5)
def test_value_and_coordinate_are_inverse(value, coordinate):
    axis = Axis.at(Literal(0, 1, value, False, "x"))
    assert axis.coordinate(axis.value(coordinate)) == pytest.approx(coordinate, abs=1e-6)
    assert axis.value(0) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_first_steps_suit_the_number():
    assert first_step(2, True) == 1.0
    assert first_step(100, True) == pytest.approx(30)
    assert 0 < first_step(0.99, False) < 0.06
    assert first_step(0.0, False) > 0
    assert first_step(1e-9, False) == pytest.approx(1e-9)


def test_a_number_can_become_zero_and_change_its_sign():
    axis = Axis.at(Literal(0, 1, 0.4, False, "x"))
    assert min(axis.value(-n) for n in range(12)) < 0


# The search


def search_of(*values: float, integers: tuple[int, ...] = ()) -> NumberSearch:
    literals = [Literal(i, i + 1, float(v), i in integers, f"x{i}") for i, v in enumerate(values)]
    return NumberSearch([Axis.at(literal) for literal in literals])


def climb(search: NumberSearch, merit, budget: int, seed: int = 1, late: int = 0) -> float:
    origin = [axis.literal.value for axis in search.axes]
    search.tell(origin, merit(origin))
    waiting = []
    for number in range(budget):
        for attempt in range(8):
            ask = search.ask(key(seed, number, f"t{attempt}"), attempt)
            if search.written(ask.values) not in search.seen:
                break
        waiting.append(ask)
        if len(waiting) > late:
            done = waiting.pop(0)
            search.tell(done.values, merit(search.written(done.values)), done.notes)
    assert search.best_merit is not None
    return search.best_merit


def sphere(x) -> float:
    return -sum((a - b) ** 2 for a, b in zip(x, (0.3, 1.7, -0.4, 2.2), strict=False))


def test_four_numbers_come_near_a_point_within_fifty_evaluations():
    start = sphere((1.0, 1.5, 0.2, 0.8))
    assert climb(search_of(1.0, 1.5, 0.2, 0.8), sphere, 50) > start / 10
    assert climb(search_of(1.0, 1.5, 0.2, 0.8), sphere, 250) > -1e-2


def test_results_that_come_late_still_help():
    assert climb(search_of(1.0, 1.5, 0.2, 0.8), sphere, 200, late=6) > -0.05


def test_one_number_is_enough():
    assert climb(search_of(10.0), lambda x: -abs(x[0] - 100), 100) > -1
    assert climb(search_of(10, integers=(0,)), lambda x: -abs(x[0] - 57), 60) > -3


def test_numbers_that_must_not_move_are_found_out():
    def merit(x):
        return None if x[0] != 26 else -((x[1] - 3.3) ** 2) - (x[2] - 7) ** 2

    search = search_of(26, 1.0, 2.0, integers=(0,))
    assert climb(search, merit, 150) > -0.05
    assert search.distribution is not None
    assert 0 not in search.distribution.active


def test_a_much_better_point_from_elsewhere_is_followed():
    search = search_of(1.0, 1.5, 0.2, 0.8)
    far = (300.0, 1.7, -0.4, 2.2)

    def merit(x):
        return -sum((a - b) ** 2 for a, b in zip(x, far, strict=True))

    climb(search, merit, 40)
    assert search.distribution is not None
    search.tell((290.0, 1.5, 0.2, 0.8), merit((290.0, 1.5, 0.2, 0.8)))
    ask = search.ask(5, 0)
    assert 200 < ask.values[0] < 400


def test_it_restarts_when_nothing_is_won():
    search = search_of(1.0, 2.0)
    climb(search, lambda x: -abs(round(x[0], 1)) * 0, 400)
    assert search.runs > 1


def test_a_generation_without_any_judged_member_restarts_instead_of_learning():
    search = search_of(1.0, 2.0, 3.0)
    climb(search, lambda x: 0.0 if x == [1.0, 2.0, 3.0] else None, 60)
    assert search.best == (0.0, 0.0, 0.0)
    assert search.distribution is not None
    assert search.distribution.cma.generation == 0


def test_many_numbers_use_the_separable_variant():
    search = search_of(*[0.5] * (SEPARABLE_ABOVE + 5))
    climb(search, lambda x: -sum((a - 0.7) ** 2 for a in x), 80)
    assert search.distribution is not None
    assert type(search.distribution.cma).__name__ == "SepCMA"


def test_asking_leaves_no_trace():
    one, two = search_of(1.0, 1.5, 0.2, 0.8), search_of(1.0, 1.5, 0.2, 0.8)
    for number in range(60):
        ask = one.ask(number, 0)
        for other in range(number % 4):
            two.ask(1000 + other, other)
        for search in (one, two):
            search.tell(ask.values, sphere(ask.values), ask.notes)
    assert one.ask(7, 0) == two.ask(7, 0)


# The operator


def test_it_improves_a_python_file():
    bench = Bench({"shape.py": SHAPE}, shape_merit)
    bench.run(Tune(), 60)
    start = bench.merits[bench.base.id]
    assert bench.best_merit is not None and start is not None
    assert bench.best_merit > start / 10


def test_it_improves_a_whole_number_in_a_text_file():
    bench = Bench({"value.txt": b"10\n", "evaluate.py": b"X = 5.5\n"}, value_merit)
    drafts = bench.run(Tune(), 12)
    assert bench.best_merit is not None and bench.best_merit > 50
    assert all(list(draft.changes) == ["value.txt"] for draft in drafts)
    assert bench.files(bench.best)["value.txt"].strip().isdigit()


def test_no_draft_repeats_its_parent_or_a_known_point():
    bench = Bench({"value.txt": b"3\n"}, lambda files: -abs(int(files["value.txt"])))
    seen = {b"3\n"}
    for draft in bench.run(Tune(), 15):
        assert draft.changes["value.txt"] not in seen
        seen.add(draft.changes["value.txt"] or b"")


def test_a_file_without_numbers_is_refused():
    with pytest.raises(Refused, match="no numbers"):
        Bench({"a.txt": b"words\n"}, lambda files: 0.0).ask(Tune())


def test_only_editable_files_are_read():
    with pytest.raises(Refused):
        Bench({"evaluate.py": b"X = 5.5\n"}, lambda files: 0.0).ask(Tune())


def test_the_summary_names_the_numbers():
    _, draft = Bench({"a.py": b"GAP = 0.1\n"}, lambda files: 0.0).ask(Tune())
    assert draft.summary.startswith("tune 1 number in a.py: GAP 0.1 -> ")


def test_replaying_what_was_observed_gives_the_same_asks():
    bench = Bench({"shape.py": SHAPE}, shape_merit)
    live = Tune()
    bench.run(live, 45)
    resumed = Tune()
    for record in bench.history:
        resumed.observe(*record)
    order = bench.order(99)
    assert live.propose(order, bench.source) == resumed.propose(order, bench.source)


def test_what_is_in_flight_changes_no_other_ask():
    bench = Bench({"shape.py": SHAPE}, shape_merit)
    one, two = Tune(), Tune()
    two.propose(bench.order(50), bench.source)
    order = bench.order(1)
    assert one.propose(order, bench.source) == two.propose(order, bench.source)


def test_another_seed_draws_other_numbers():
    one = Bench({"shape.py": SHAPE}, shape_merit, seed=11)
    two = Bench({"shape.py": SHAPE}, shape_merit, seed=12)
    assert one.run(Tune(), 3) != two.run(Tune(), 3)


def test_a_better_candidate_of_another_operator_is_built_upon():
    bench = Bench({"shape.py": SHAPE}, shape_merit)
    tune = Tune()
    bench.run(tune, 2)
    better = SHAPE.replace(b"HIGH = 0.8", b"HIGH = 2.2").replace(b"1.0", b"0.3")
    bench.number += 1
    bench.admit(tune, bench.order(bench.number, bench.base), Draft({"shape.py": better}), name="mutate")
    _, draft = bench.ask(tune)
    changed = (draft.changes["shape.py"] or b"").splitlines()
    assert sum(line in better.splitlines() for line in changed) >= len(better.splitlines()) - 1


def test_another_skeleton_has_a_search_of_its_own():
    bench = Bench({"shape.py": SHAPE}, shape_merit)
    tune = Tune()
    bench.run(tune, 5)
    _, first = bench.ask(tune)
    other = SHAPE + b"EXTRA = 4.5\n"
    tree = bench.store.add({"shape.py": other})
    parent = Candidate(tree, "x", 9, (bench.base.id,), 9, "mutate", "", {}, ("shape.py",))
    _, second = bench.ask(tune, parent)
    assert first.payload["skeleton"] != second.payload["skeleton"]
    assert b"EXTRA" in (second.changes["shape.py"] or b"")


def test_failed_results_never_become_the_best():
    bench = Bench({"value.txt": b"5\n"}, lambda f: None if int(f["value.txt"]) > 5 else float(f["value.txt"]))
    bench.run(Tune(), 12)
    assert bench.best is bench.base


def test_files_are_read_once_however_often_they_are_tuned():
    bench = Bench({"shape.py": SHAPE, **{f"m{n}.py": b"A = 1.5\n" for n in range(20)}}, shape_merit)
    tune = Tune()
    bench.run(tune, 5)
    before = bench.store.blobs_read
    bench.run(tune, 10)
    assert bench.store.blobs_read - before <= 40


def test_it_handles_text_and_leaves_pictures_alone():
    assert Tune().handles(["value.txt"])
    assert Tune().handles(["a.png", "a.py"])
    assert not Tune().handles(["a.png"])


def test_the_fake_store_hashes_files_as_git_does():
    store = MemoryStore()
    tree = store.add({"a": b"hello\n"})
    assert store.files(tree)[0].oid == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_numbers_stay_finite():
    axis = Axis.at(Literal(0, 1, 1e300, False, "x"))
    assert math.isfinite(axis.value(1e9))


def test_a_number_without_effect_is_tried_again_when_another_was_improved():
    search = search_of(0.0, 0.05)
    # The second number matters only once the first has left zero.
    climb(search, lambda x: 0.0 if x[0] <= 0 else 1 - abs(x[0] - 0.6) - 10 * abs(x[1] - 0.03), 12)
    assert not search.probes[1].idle


@pytest.mark.parametrize("told", [3, 25, 60, 200])
@pytest.mark.parametrize("size", [1, 3, 70])
def test_a_search_comes_back_from_its_state_as_it_was(told: int, size: int) -> None:
    search = search_of(*(0.5 + i for i in range(size)))
    merit = lambda x: None if x[0] > 1.4 else -sum((v - 0.9) ** 2 for v in x)  # noqa: E731
    others = [search]
    for number in range(told + 40):
        if number == told:
            others.append(searchstate.restored(json.loads(json.dumps(searchstate.state(search)))))
        asks = [each.ask(number, 0) for each in others]
        assert asks[0] == asks[-1]
        for each in others:
            each.tell(asks[0].values, merit(asks[0].values), asks[0].notes)
    assert others[0].seen == others[1].seen
    assert others[0].best == others[1].best
