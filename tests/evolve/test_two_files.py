"""One change of two files by a model, from its reply to the user's branch."""

from __future__ import annotations

from pathlib import Path

from caserun import git
from scripted_server import says, server
from targets import evolve, repository

FILES = {
    "src/rate.py": "RATE = 2\n",
    "src/plan.py": "from rate import RATE\n\n\ndef total(parts):\n    return RATE * len(parts)\n\n\ndef unit():\n    return 1\n",
    "evaluate.py": (
        "import sys\nsys.path.insert(0, 'src')\nfrom plan import total\nprint(total('abc') if total('') == 0 else -1)\n"
    ),
    "notes.md": "Nothing yet.\n",
}
REPLY = """Both files must change for this.

src/rate.py
<<<<<<< SEARCH
RATE = 2
=======
RATE, BONUS = 5, 4
>>>>>>> REPLACE

src/plan.py
<<<<<<< SEARCH
from rate import RATE
=======
from rate import BONUS, RATE
>>>>>>> REPLACE
<<<<<<< SEARCH
    return RATE * len(parts)
=======
    return (RATE + BONUS) * len(parts)
>>>>>>> REPLACE
"""


def test_a_change_of_two_files_is_exported_and_merges_with_what_the_user_did_meanwhile(
    tmp_path: Path,
) -> None:
    with server(lambda number: says(REPLY)) as seen:
        toml = f"""[artifact]
include = ["src/*.py"]
[evaluator]
command = "python evaluate.py"
[operators]
edit = 1.0
[models]
pool = [{{model = "tiny", api_base = "{seen.base}"}}]
[workers]
propose = 1
evaluate = 1
reflect = 0
[budget]
proposals = 1
"""
        repo = repository(tmp_path / "repo", {**FILES, "evolve.toml": toml})
        ran = evolve(repo, "run")
    assert ran.returncode == 0, ran.stderr
    (repo / "notes.md").write_text("Something.\n", encoding="utf-8")
    (repo / "src/plan.py").write_text(FILES["src/plan.py"] + "\n\nLIMIT = 9\n", encoding="utf-8")
    git(repo, "commit", "-q", "-a", "-m", "meanwhile")
    exported = evolve(repo, "export", "--branch", "better")
    assert exported.returncode == 0, exported.stderr
    git(repo, "merge", "-q", "--no-edit", "better")
    assert git(repo, "status", "--porcelain").strip() == ""
    assert (repo / "src/rate.py").read_text(encoding="utf-8") == "RATE, BONUS = 5, 4\n"
    plan = (repo / "src/plan.py").read_text(encoding="utf-8")
    assert "(RATE + BONUS) * len(parts)" in plan and plan.endswith("LIMIT = 9\n")
