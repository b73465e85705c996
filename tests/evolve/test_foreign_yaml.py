from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evolve.foreign.yaml import read

TEXT = """\
# a comment
plain: some text   # and why
number: 12
real: 1e-3
quoted: "a # b: c"
single: 'it''s'
yes_word: true
nothing:
list: [1, "two, three", {a: 1}]
block:
  - first
  - name: second
    weight: 2
  -
    third: 3
same_indent:
- a
- b
text: |
  line one

    deeper
  last
folded: >-
  one
  two
deep:
  deeper:
    deepest: x
after: 1
"""


def test_what_configurations_are_written_in() -> None:
    assert read(TEXT) == {
        "plain": "some text",
        "number": 12,
        "real": 0.001,
        "quoted": "a # b: c",
        "single": "it's",
        "yes_word": True,
        "nothing": None,
        "list": [1, "two, three", {"a": 1}],
        "block": ["first", {"name": "second", "weight": 2}, {"third": 3}],
        "same_indent": ["a", "b"],
        "text": "line one\n\n  deeper\nlast\n",
        "folded": "one two\n",
        "deep": {"deeper": {"deepest": "x"}},
        "after": 1,
    }


@given(st.text(alphabet="ab:-# \n[]{}'\"|>&*!%,", max_size=80))
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    assert isinstance(read(text), dict)


def test_what_is_no_mapping_is_empty() -> None:
    assert read("") == read("- a\n- b\n") == {}
