from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluators.contract import Finished, Outcome, Request, judge

REQUEST = Request(candidate="0" * 40)


def of_result(text: str | bytes, objective: str = "score", cases: tuple[str, ...] | None = None) -> Outcome:
    data = text.encode() if isinstance(text, str) else text
    return judge(Finished(exit=0, result=data), objective, Request(candidate="0" * 40, cases=cases))


def of_output(text: str) -> Outcome:
    return judge(Finished(exit=0, stdout=text.encode()), "score", REQUEST)


def is_sound(outcome: Outcome) -> bool:
    """Whether everything in it can be stored, compared and shown."""
    numbers = [*outcome.metrics.values(), *(case.score for case in outcome.cases)]
    texts = [outcome.reason or "", outcome.feedback, *outcome.artifacts.values()]
    texts += [case.feedback or "" for case in outcome.cases]
    json.dumps(dict(outcome.metrics), allow_nan=False)
    for text in texts:
        text.encode("utf-8")
        assert "\x1b" not in text and "\0" not in text
    assert "\n" not in (outcome.reason or "")
    if outcome.verdict == "judged":
        assert outcome.score is not None and math.isfinite(outcome.score) and outcome.reason is None
    else:
        assert outcome.score is None and outcome.reason
    return all(math.isfinite(number) for number in numbers)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["score", "metrics", "cases", "measures", "feedback", "artifacts"])


@given(st.binary(max_size=200), st.binary(max_size=200), st.none() | st.binary(max_size=200))
@example(b"", b"", b"\xff\xfe")
@example(b"", b"", b"[" * 100_000)
@example(b"", b"", b'{"a":' * 100_000)
@example(b"9" * 100_000, b"", None)
@example(b"\x1b[2J\x00", b"\x1b]0;x\x07", None)
def test_judging_never_raises_whatever_the_bytes(stdout: bytes, stderr: bytes, result: bytes | None) -> None:
    for code in (0, 1, 75):
        assert is_sound(
            judge(Finished(exit=code, stdout=stdout, stderr=stderr, result=result), "score", REQUEST)
        )


@given(st.dictionaries(KEYS, JSON, max_size=6), st.sampled_from(["score", "x"]))
def test_judging_never_raises_whatever_the_object(value: dict[str, Any], objective: str) -> None:
    assert is_sound(of_result(json.dumps(value), objective))
    assert is_sound(of_output("log\n" + json.dumps(value)))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
def test_a_finite_number_is_its_own_score(number: float) -> None:
    for outcome in (
        of_result(repr(number)),
        of_output(f"working\n{number!r}\n\n"),
        of_result(f'{{"score": {number!r}}}'),
    ):
        assert outcome.verdict == "judged" and outcome.score == number


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"score": NaN}', "nan"),
        ('{"score": Infinity}', "infinite"),
        ('{"score": -1e999}', "infinite"),
        ("nan", "nan"),
        ("1e999", "infinite"),
        ('{"score": ' + "9" * 5000 + "}", "infinite"),
        ('{"score": 1, "metrics": {"ms": NaN}}', "ms"),
        ('{"score": "0.5"}', "text"),
        ('{"score": null}', "null"),
        ('{"score": [1]}', "list"),
        ('{"score": 1, "score": 2}', "twice"),
        ('{"score": 1, "metrics": {"a": 1, "a": 1}}', "'a'"),
        ('{"score": 1, "cases": {"q": {"score": 1, "score": 0}}}', "twice"),
        (r'{"score": 1, "cases": {"q2": 1, "q\u0032": 1}}', "q2"),
        ('{"score": 1, "cases": {"q": {"feedback": "no"}}}', "'q'"),
        ('{"score": 1, "cases": {"q": "1"}}', "'q'"),
        ('{"score": 1, "cases": ["q"]}', "cases"),
        ('{"score": 1, "measures": {"depth": [1]}}', "depth"),
        ('{"score": 1, "feedback": 5}', "feedback"),
        ("{}", "score"),
        ("[1]", "list"),
        ('{"score": 1} {"score": 2}', "neither"),
        ('{"score": 1', "neither"),
        ("", "empty"),
        (b"\xff{}", "UTF-8"),
        ("[" * 100_000, "deep"),
        (" " * (9 << 20), "larger"),
    ],
)
def test_a_result_that_breaks_the_contract_is_named(text: str | bytes, word: str) -> None:
    outcome = of_result(text)
    assert outcome.verdict == "invalid" and word in (outcome.reason or ""), outcome.reason


@pytest.mark.parametrize("cases", [{"a": 1}, {"a": 1, "b": 1, "c": 1}, {}, {"A": 1, "b": 1}])
def test_cases_must_be_those_that_were_asked_for(cases: dict[str, int]) -> None:
    assert of_result(json.dumps({"score": 1, "cases": cases}), cases=("a", "b")).verdict == "invalid"


def test_the_objective_may_be_a_metric_and_needs_no_score() -> None:
    assert of_result('{"metrics": {"ms": 12}}', "ms").score == 12.0
    assert of_result("12", "ms").verdict == "invalid"


@pytest.mark.parametrize("line", ["1", "1.", ".5", "+2", "-1e-3", "  7  \t"])
def test_printed_numbers_are_read_as_people_print_them(line: str) -> None:
    assert of_output(line).score == float(line)


@pytest.mark.parametrize("line", ["0x10", "1_000", "1,5", "score: 3", "True", "١", "--1", "'1'"])
def test_what_only_resembles_a_number_is_invalid(line: str) -> None:
    assert of_output(line).verdict == "invalid"


@pytest.mark.parametrize(
    ("finished", "verdict", "reason"),
    [
        (Finished(timed_out=True, limit=2.0), "failed", "time limit of 2 s reached"),
        (Finished(signal=9), "failed", "killed by signal SIGKILL"),
        (Finished(signal=99), "failed", "killed by signal 99"),
        (Finished(exit=1, stderr=b"a\nno plan\n\n"), "failed", "exit 1: no plan"),
        (Finished(exit=75, stderr=b"busy\n"), "could_not_judge", "exit 75: busy"),
        (Finished(killed_for="memory"), "failed", "memory limit exceeded: killed"),
        (Finished(exit=0, fault="it raised", result=b"1"), "failed", "it raised"),
        (Finished(exit=0, result_problem="it is a link", stdout=b"1"), "invalid", "it is a link"),
    ],
)
def test_the_reason_says_what_happened(finished: Finished, verdict: str, reason: str) -> None:
    outcome = judge(finished, "score", REQUEST)
    assert (outcome.verdict, outcome.reason) == (verdict, reason)


def test_texts_are_bounded_and_say_where_they_were_cut() -> None:
    long = "x" * 1_000_000
    outcome = of_result(
        json.dumps(
            {
                "score": 1,
                "feedback": long,
                "artifacts": {"a": long},
                "cases": {"q": {"score": 1, "feedback": long}},
            }
        )
    )
    for text in (outcome.feedback, outcome.artifacts["a"], outcome.cases[0].feedback or ""):
        assert len(text) < 300_000 and "cut here" in text
    failed = judge(Finished(exit=1, stderr=(long + "\nlast words").encode()), "score", REQUEST)
    assert len(failed.feedback) < 10_000 and failed.feedback.endswith("last words")


def test_the_whole_last_line_counts_even_if_the_stored_output_was_cut() -> None:
    finished = Finished(exit=0, stdout=b"...cut", last_line=b'{"score": 4}')
    assert judge(finished, "score", REQUEST).score == 4.0
