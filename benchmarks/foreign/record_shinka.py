"""Run cases by ShinkaEvolve itself: `.../shinka/bin/python record_shinka.py CASE ...`, which `compare.py` does."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cases

os.environ.setdefault("SHINKA_PRICING_MODE", "offline")
from shinka.launch import JobScheduler, LocalJobConfig


def record(folder: Path) -> dict[str, Any]:
    case = cases.read(folder)
    arguments = case.get("shinka", {}).get("arguments")
    seconds = case.get("timeout", 60)
    program = case.get("program", "initial.py")
    with cases.workplace(folder) as (work, temporary):
        config = LocalJobConfig(
            eval_program_path=str(work / "evaluate.py"),
            extra_cmd_args=arguments or {},
            time=f"00:00:{seconds:02d}" if seconds < 60 else "00:01:00",
        )
        place = temporary / "gen_0"
        place.mkdir()
        path = place / f"main{Path(program).suffix}"
        path.write_bytes((work / program).read_bytes())
        scheduler = JobScheduler(job_type="local", config=config)
        try:
            results, _ = scheduler.run(str(path), str(place / "results"))
        except Exception as error:
            results = {"correct": {"correct": False, "error": str(error)}, "metrics": {}}
    metrics = results["metrics"]
    correct = results["correct"]
    return {
        "version": version("shinka-evolve"),
        "failed": not correct.get("correct", False),
        "score": metrics.get("combined_score", 0.0),
        "metrics": {name: value for name, value in metrics.items() if "time" not in name},
        "error": correct.get("error"),
    }


if __name__ == "__main__":
    cases.main(record)
