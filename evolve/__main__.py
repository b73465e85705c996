"""`python -m evolve`, the same as the `evolve` command."""

from evolve.cli import main

if __name__ == "__main__":
    main()
