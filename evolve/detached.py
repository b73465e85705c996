"""The program of an orchestrator in the background. `evolve.background` starts it by path, never by name.

A target may have a package called `evolve`, so the folder it is started in is not searched for modules, and
ours comes last: where it is installed, nothing changes.
"""

import sys
from pathlib import Path


def main() -> int:
    """Run the campaign that standard input describes; returns the exit code."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from evolve.background import serve

    return serve()


if __name__ == "__main__":
    sys.exit(main())
