from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import pytest
from handmade import evolve, git, make_repository

from evolve.config import load
from evolve.detect import detect
from evolve.templates import skeleton

Capture = pytest.CaptureFixture[str]
FUNCTION = "def evaluate(candidate_dir, request):\n    return 1\n"


def folder_with(folder: Path, files: dict[str, str]) -> list[str]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return sorted(files)


def test_what_init_writes_is_a_valid_configuration(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(
        root, {"evaluate.py": FUNCTION + "import packing\n", "packing.py": "x = 1\n", "README": "hi"}
    )
    ran = evolve(capsys, "-C", root, "init")
    assert (ran.code, ran.err) == (0, "")
    config = load(root / "evolve.toml")
    assert (config.evaluator.function, config.artifact.include) == ("evaluate.py:evaluate", ["packing.py"])
    assert "packing.py" in ran.out


def test_init_in_an_empty_repository_says_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q")
    ran = evolve(capsys, "-C", root, "init", "--json")
    notes = " ".join(json.loads(ran.out)["notes"])
    assert ran.code == 0
    assert all(word in notes for word in ("evaluate.py", "artifact.include", "commit"))
    assert load(root / "evolve.toml").artifact.include


def test_init_never_replaces_without_force(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(root, {"a.py": "x = 1\n", "evolve.toml": "mine"})
    ran = evolve(capsys, "-C", root, "init")
    assert (ran.code, (root / "evolve.toml").read_text()) == (2, "mine")
    assert "--force" in ran.err
    assert evolve(capsys, "-C", root, "init", "--force").code == 0
    assert load(root / "evolve.toml").artifact.include == ["a.py"]


def test_the_skeleton_of_an_evaluator_never_replaces_one(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(root, {"a.py": "x = 1\n", "evaluate.py": FUNCTION})
    assert evolve(capsys, "-C", root, "init", "--evaluator").code == 2
    assert (root / "evaluate.py").read_text() == FUNCTION
    assert not (root / "evolve.toml").exists()


def test_the_skeleton_is_used_by_the_configuration(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(root, {"a.py": "x = 1\n", "tests/test_a.py": "def test_a(): pass\n"})
    assert evolve(capsys, "-C", root, "init", "--evaluator", "--campaign", "mine").code == 0
    config = load(root / "evolve.toml")
    assert (config.evaluator.function, config.campaign.name) == ("evaluate.py:evaluate", "mine")
    assert '"tests"' in (root / "evaluate.py").read_text()


@pytest.mark.parametrize("tests", [None, "tests", 'odd "name'])
def test_skeletons_are_python(tests: str | None) -> None:
    assert [node.name for node in ast.parse(skeleton(tests)).body if isinstance(node, ast.FunctionDef)]


def test_init_in_a_subfolder_speaks_of_its_files(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(
        root, {"other.py": "x = 1\n", "sub dir/evaluate.py": FUNCTION, "sub dir/größe.py": "y = 2\n"}
    )
    assert evolve(capsys, "-C", root / "sub dir", "init").code == 0
    config = load(root / "sub dir" / "evolve.toml")
    assert (config.evaluator.function, config.artifact.include) == ("evaluate.py:evaluate", ["größe.py"])


def test_uncommitted_work_is_pointed_out(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "r"
    make_repository(root, {"a.py": "x = 1\n", "evaluate.py": FUNCTION})
    (root / "a.py").write_text("x = 2\n")
    assert "uncommitted" in " ".join(json.loads(evolve(capsys, "-C", root, "init", "--json").out)["notes"])


def test_a_file_of_any_name_that_defines_evaluate_is_the_evaluator(tmp_path: Path) -> None:
    files = folder_with(
        tmp_path, {"judge.py": FUNCTION + "import plan\n", "plan.py": "def evaluate(): pass\n"}
    )
    found = detect(tmp_path, files)
    assert found.function is not None and found.function.value == "judge.py:evaluate"
    assert found.include == ["plan.py"]
    files = folder_with(
        tmp_path, {"other.py": FUNCTION, **{path: (tmp_path / path).read_text() for path in files}}
    )
    assert detect(tmp_path, files).function is None


def test_an_evaluator_that_is_no_function_is_run_as_a_program(tmp_path: Path) -> None:
    tracked = folder_with(tmp_path, {"evaluate.py": "print(1)\n", "a.py": ""})
    found = detect(tmp_path, tracked, {})
    assert (found.function, found.command and found.command.value) == (None, "python evaluate.py")


@pytest.mark.parametrize("signature", ["program_path", "a, b, c", ""])
def test_a_function_of_another_shape_is_not_called(tmp_path: Path, signature: str) -> None:
    tracked = folder_with(tmp_path, {"evaluate.py": f"def evaluate({signature}): pass\n", "a.py": ""})
    found = detect(tmp_path, tracked, {})
    assert found.function is None
    assert any("candidate_dir" in note for note in found.notes)


@pytest.mark.parametrize("signature", ["a, b", "a, b=None", "*all", "a, b, c=3"])
def test_a_function_of_two_arguments_is_called(tmp_path: Path, signature: str) -> None:
    tracked = folder_with(tmp_path, {"evaluate.py": f"def evaluate({signature}): pass\n", "a.py": ""})
    assert detect(tmp_path, tracked, {}).function is not None


def test_an_evaluator_that_is_no_python_does_not_stop_init(tmp_path: Path) -> None:
    tracked = folder_with(tmp_path, {"evaluate.py": "print 'old'\n", "a.py": "", "b.py": "\x00"})
    assert detect(tmp_path, tracked, {}).command is not None


def test_marked_blocks_are_what_may_change(tmp_path: Path) -> None:
    files = {"a.py": "# EVOLVE-BLOCK-START\n", "b.py": "", "evaluate.py": FUNCTION + "import b\n"}
    assert detect(tmp_path, folder_with(tmp_path, files), {}).include == ["a.py"]


def test_files_the_evaluator_reads_are_what_may_change(tmp_path: Path) -> None:
    files = {"value.txt": "1", "notes.txt": "", "evaluate.py": "print(open('value.txt').read())\n"}
    assert detect(tmp_path, folder_with(tmp_path, files), {}).include == ["value.txt"]


def test_tests_and_tools_are_not_what_may_change(tmp_path: Path) -> None:
    files = dict.fromkeys(
        ("src/p/a.py", "tests/test_a.py", "docs/conf.py", "setup.py", "test_b.py", ".x/y.py"), ""
    )
    found = detect(tmp_path, folder_with(tmp_path, files), {})
    assert (found.include, found.tests) == (["src/p/a.py"], "test_b.py")


def test_many_files_become_globs(tmp_path: Path) -> None:
    files = {f"src/{name}.c": "" for name in "abcdefg"} | {"main.c": ""}
    assert detect(tmp_path, folder_with(tmp_path, files), {}).include == ["*.c", "src/**/*.c"]


def test_the_environment_of_the_repository_is_preferred(tmp_path: Path) -> None:
    own, active = tmp_path / ".venv", tmp_path / "active"
    for place in (own, active):
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "python").touch()
    found = detect(tmp_path, [], {"VIRTUAL_ENV": str(active)})
    assert found.python is not None
    assert found.python.value == str(active / "bin" / "python")
    (own / "pyvenv.cfg").touch()
    found = detect(tmp_path, [], {"VIRTUAL_ENV": str(active)})
    assert found.python is not None
    assert found.python.value == os.path.join(".venv", "bin", "python")  # noqa: PTH118


@pytest.mark.parametrize(("lock", "says"), [("uv.lock", "uv sync"), ("poetry.lock", "poetry install")])
def test_a_lock_file_without_an_environment_is_pointed_out(tmp_path: Path, lock: str, says: str) -> None:
    (tmp_path / lock).touch()
    assert any(says in note for note in detect(tmp_path, [], {}).notes)
