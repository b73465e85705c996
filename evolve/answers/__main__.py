"""Writes the schemas: `python -m evolve.answers docs/schemas`."""

import sys
from pathlib import Path

from evolve.answers.schemas import write_schemas

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
