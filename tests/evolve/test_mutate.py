"""Syntactic mutation: what may be edited, and what every edit promises."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest
from operator_fakes import Bench

from archives.records import Candidate
from evolve.operators import mutate as module
from evolve.operators.base import Refused
from evolve.operators.mutate import Mutate, acceptable
from evolve.operators.mutations import bracketed, names_in, stock_of
from evolve.operators.rearrangements import MUTATIONS
from evolve.operators.syntaxtree import SyntaxTree
from evolve.randomness import rng

PROGRAM = '''"""A priority function, version 1."""

import math
from operator import add as plus

SCALE = 2.5
TABLE = [1, 2, 3]


def priority(item: float, bins: list[float]) -> list[float]:
    """Return 3 things."""
    best = []
    for free in bins:
        left = free - item
        if left < 0 and item > 1:
            best.append(-math.inf)
            continue
        elif left == 0:
            score = max(SCALE, item)
        else:
            score = -left / SCALE + math.sqrt(left) * 0.5
        best.append(score if score > -5 else left)
    while len(best) > 3:
        best.pop()
    total = sum(b * w for b, w in zip(best, TABLE) if b > w)
    return [total, *best]
'''


def bench(text: str = PROGRAM, **more: str) -> Bench:
    files = {"packing.py": text.encode(), **{path: body.encode() for path, body in more.items()}}
    return Bench(files, lambda files: float(len(files["packing.py"])))


def one(b: Bench, number: int, **more) -> str:
    draft = Mutate().propose(b.order(number, **more), b.source)
    return (draft.changes["packing.py"] or b"").decode()


def test_every_proposal_compiles_and_means_something_else():
    b, operator = bench(), Mutate()
    for number in range(1, 120):
        draft = operator.propose(b.order(number), b.source)
        new = (draft.changes["packing.py"] or b"").decode()
        compile(new, "x", "exec")
        assert ast.dump(ast.parse(new)) != ast.dump(ast.parse(PROGRAM))
        assert draft.summary.startswith("mutate packing.py: ")
        assert "\n" not in draft.summary


def test_proposals_differ_from_each_other():
    b, operator = bench(), Mutate()
    texts = {bytes(operator.propose(b.order(n), b.source).changes["packing.py"] or b"") for n in range(1, 61)}
    assert len(texts) > 50


def test_docstrings_imports_and_annotations_stay():
    b, operator = bench(), Mutate()
    for number in range(1, 120):
        new = (operator.propose(b.order(number), b.source).changes["packing.py"] or b"").decode()
        for line in (
            '"""A priority function, version 1."""',
            "import math",
            "from operator import add as plus",
        ):
            assert line in new.splitlines()
        assert '"""Return 3 things."""' in new
        assert "def priority(item: float, bins: list[float]) -> list[float]:" in new


@pytest.mark.parametrize("mutation", [m for m, _ in MUTATIONS], ids=lambda m: m.__name__)
def test_every_kind_of_edit_works(mutation):
    tree = SyntaxTree.parse(PROGRAM)
    stock = stock_of(tree)
    good = 0
    for number in range(60):
        edit = mutation(tree, rng(0, number, "x"), stock)
        if edit is not None and acceptable(PROGRAM.encode(), edit[0].code.encode()):
            good += 1
    assert good >= 10
    assert tree.module.code == PROGRAM


def test_borrowed_names_exist_where_they_are_read():
    b, operator = bench(), Mutate()
    for number in range(1, 150):
        new = (operator.propose(b.order(number), b.source).changes["packing.py"] or b"").decode()
        tree = ast.parse(new)
        outside = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
        names = {n.id for top in outside for n in ast.walk(top) if isinstance(n, ast.Name)}
        assert names <= {"SCALE", "TABLE", "math", "abs", "min", "max", "plus"}


def test_a_name_is_not_borrowed_before_it_is_bound():
    tree = SyntaxTree.parse("def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n")
    first = next(p for p in tree.of_kind("value") if isinstance(p.node, cst.BinaryOperation))
    assert tree.visible(first, ["a"])
    assert not tree.visible(first, ["b"])
    assert not tree.visible(first, ["c"])
    assert not tree.visible(first, ["unknown"])
    last = tree.of_kind("value")[-1]
    assert tree.visible(last, ["a", "b", "c", "len"])


def test_names_of_a_comprehension_stay_in_it():
    tree = SyntaxTree.parse("def f(a):\n    x = [i * 2 for i in a]\n    return x\n")
    inner = next(p for p in tree.of_kind("value") if names_in(p.node) == ["i"])
    assert tree.visible(inner, ["i"])
    assert not tree.visible(tree.of_kind("value")[-1], ["i"])


def test_expressions_are_borrowed_from_inspirations():
    b = bench()
    other = b.store.add({"packing.py": PROGRAM.replace("0.5", "item ** 0.123").encode()})
    lender = Candidate(other, "x", 9, (b.base.id,), 9, "edit", "")
    texts = [one(b, number, inspirations=(lender,)) for number in range(1, 150)]
    assert any("0.123" in text for text in texts)


def test_only_marked_blocks_are_edited():
    text = "A = 1 + 2\n\n# EVOLVE-BLOCK-START\nB = 3 * A\nC = B - 4\n# EVOLVE-BLOCK-END\nD = 5 / C\n"
    for number in range(1, 40):
        new = one(bench(text), number)
        assert new.startswith("A = 1 + 2\n\n# EVOLVE-BLOCK-START\n")
        assert new.endswith("# EVOLVE-BLOCK-END\nD = 5 / C\n")


def test_marked_blocks_inside_a_function_are_found():
    inside = "    # EVOLVE-BLOCK-START\n    b = b * 2\n    # EVOLVE-BLOCK-END\n"
    text = f"def f(a):\n    b = a + 1\n{inside}    return b - 3\n"
    for number in range(1, 30):
        new = one(bench(text), number)
        assert "b = a + 1" in new
        assert "return b - 3" in new


def test_code_cannot_grow_without_bound():
    b, operator = bench(), Mutate()
    limit = module.MAX_GROWTH * len(PROGRAM) + module.SPARE_BYTES
    for _ in range(120):
        order, draft = b.ask(operator)
        b.admit(operator, order, draft)
        assert len(draft.changes["packing.py"] or b"") <= limit


def test_the_same_order_gives_the_same_draft_whatever_came_before():
    b = bench()
    busy = Mutate()
    for number in range(1, 10):
        busy.propose(b.order(number), b.source)
    order = b.order(42)
    assert busy.propose(order, b.source) == Mutate().propose(order, b.source)


def test_a_repository_without_python_is_refused():
    b = Bench({"value.txt": b"1\n"}, lambda files: 0.0)
    with pytest.raises(Refused, match="no Python file"):
        Mutate().propose(b.order(1), b.source)
    assert not Mutate().handles(["value.txt"])
    assert Mutate().handles(["a.py"])


@pytest.mark.parametrize("text", ["x = (\n", "", "# nothing\n", '"""Only words."""\n'])
def test_a_file_that_offers_nothing_is_refused(text):
    b = bench(text)
    with pytest.raises(Refused):
        Mutate().propose(b.order(1), b.source)


def test_protected_files_are_never_edited():
    b = bench(**{"evaluate.py": "X = 1 + 2\n"})
    operator = Mutate()
    assert all(list(operator.propose(b.order(n), b.source).changes) == ["packing.py"] for n in range(1, 20))


def test_windows_line_ends_and_umlauts_survive():
    text = "größe = 1 + 2\r\nweite = größe * 3  # ü\r\n"
    new = one(bench(text), 3)
    assert "\r\n" in new
    assert "\n" not in new.replace("\r\n", "")


def test_brackets_keep_the_meaning():
    assert cst.Module([]).code_for_node(bracketed(cst.parse_expression("a + b"))) == "(a + b)"
    assert cst.Module([]).code_for_node(bracketed(cst.parse_expression("(a + b)"))) == "(a + b)"
    assert cst.Module([]).code_for_node(bracketed(cst.parse_expression("a"))) == "a"


def test_an_edit_of_layout_alone_is_not_accepted():
    assert not acceptable(b"x = 1\n", b"x  =  1\n")
    assert not acceptable(b"x = 1\n", b"x = (\n")
    assert acceptable(b"x = 1\n", b"x = 2\n")


@pytest.mark.parametrize("operator", ["tune.Tune", "mutate.Mutate"])
def test_the_hash_seed_of_python_changes_nothing(operator):
    here = Path(__file__).parent
    module, name = operator.split(".")
    script = (
        f"from operator_fakes import Bench; from evolve.operators.{module} import {name}\n"
        "import test_mutate as t\n"
        "b = Bench({'packing.py': t.PROGRAM.encode()}, lambda f: float(sum(f['packing.py']) % 997))\n"
        f"print([d.summary for d in b.run({name}(), 12)])"
    )
    path = os.pathsep.join([str(here), str(here.parent.parent)])
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(said[0]) > 200
