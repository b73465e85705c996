"""A campaign on a local Ray cluster of two nodes, one of which is killed midway: is every evaluation there once?

    python benchmarks/ray_cluster.py [--evaluations 60] [--seconds 0.5]

The nodes are two raylets on this machine, with two processors each as far as Ray is concerned. The second one,
with its actors and the evaluations in them, is killed with SIGKILL once a third of the budget is spent. Prints
what was found and exits 1 if anything was lost, counted twice, or left behind.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

HOME = Path(".git/evolve/cluster/campaign.db")
TOML = """[campaign]
name = "cluster"
[artifact]
include = ["value.py"]
[evaluator]
command = "python evaluate.py"
executor = "ray"
env = ["EVOLVE_MARK"]
[promotion]
rule = "strict"
[operators]
tune = 1
[budget]
evaluations = {evaluations}
"""
EVALUATE = """import time
from value import X, Y
time.sleep({seconds})
print(-(X - 3.0) ** 2 - (Y + 1.0) ** 2)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long one evaluation takes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evolve-cluster-") as folder:
        found = demonstrate(Path(folder), options.evaluations, options.seconds)
    print(json.dumps(found, indent=2))
    return 0 if sound(found) else 1


def demonstrate(folder: Path, evaluations: int, seconds: float) -> dict[str, object]:
    """Run the campaign, kill the node, and count."""
    from ray.cluster_utils import Cluster

    mark = f"evolve-{uuid.uuid4().hex}"
    repo = _repository(folder / "target", evaluations, seconds)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        doomed = cluster.add_node(num_cpus=2)
        environment = {**os.environ, "RAY_ADDRESS": cluster.address, "EVOLVE_MARK": mark}
        command = [sys.executable, "-m", "evolve", "run"]
        with (folder / "said").open("wb") as said:
            run = subprocess.Popen(command, cwd=repo, env=environment, stdout=said, stderr=said)
            before = _await(repo, run, evaluations // 3)
            judging = len(marked(mark))
            cluster.remove_node(doomed, allow_graceful=False)
            print(f"killed a node after {before} evaluations, {judging} processes at work", file=sys.stderr)
            code = run.wait()
        left = _none_left(mark)
        said_last = (folder / "said").read_text(encoding="utf-8", errors="replace")[-2000:]
        return {"exit": code, "before": before, "left": left, **counted(repo), "said": said_last}
    finally:
        cluster.shutdown()


def counted(repo: Path) -> dict[str, object]:
    """What the journal has."""
    from archives.reader import Reader

    with Reader(repo / HOME) as reader:
        base = reader.setting("base")
        rows = list(reader.evaluations_after(0))
        looks = collections.Counter(row.candidate for row in rows if row.counted and row.candidate != base)
        made = {row.id for row in reader.stubs()} - {base}
        return {
            "evaluations": reader.counts().counted,
            "candidates": len(made),
            "judged once": sum(times == 1 for times in looks.values()),
            "judged more often": sum(times > 1 for times in looks.values()),
            "never judged": len(made - set(looks)),
            "verdicts": dict(collections.Counter(row.verdict for row in rows)),
            "unfinished": len([*reader.proposals("open"), *reader.proposals("made")]),
        }


def sound(found: dict[str, object]) -> bool:
    """Whether nothing was lost, counted twice, or left behind."""
    nothing = ("exit", "left", "judged more often", "never judged", "unfinished")
    return all(found[name] == 0 for name in nothing) and found["judged once"] == found["candidates"]


def marked(mark: str) -> list[int]:
    """Processes that got the mark in their environment, which all that evaluations start do."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            carries = entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes()
            if carries and b"-m\0evolve" not in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _none_left(mark: str) -> int:
    end = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    return len(left)


def _await(repo: Path, run: subprocess.Popen[bytes], evaluations: int) -> int:
    from archives.reader import Reader

    place = repo / HOME
    while run.poll() is None:
        if place.exists():
            with Reader(place) as reader:
                if (count := reader.counts().counted) >= evaluations:
                    return count
        time.sleep(0.2)
    return 0


def _repository(folder: Path, evaluations: int, seconds: float) -> Path:
    folder.mkdir(parents=True)
    (folder / "value.py").write_text("X = 1.5\nY = 2.5\n", encoding="utf-8")
    (folder / "evaluate.py").write_text(EVALUATE.format(seconds=seconds), encoding="utf-8")
    (folder / "evolve.toml").write_text(TOML.format(evaluations=evaluations), encoding="utf-8")
    who = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
