"""A process to be killed: it writes pairs of records and prints the number of each acknowledged pair.

Arguments: database, first number, how many, how many may be unacknowledged at a time.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

from archives.journal import Journal
from archives.records import Evaluation, Event


def main(path: str, first: int, count: int, in_flight: int) -> None:
    journal = Journal.open(Path(path))
    room = threading.Semaphore(in_flight)
    base = "b" * 40

    def acknowledge(future: Future[None], number: int) -> None:
        future.result()
        os.write(1, f"{number}\n".encode())
        room.release()

    for number in range(first, first + count):
        room.acquire()
        evaluation = Evaluation(number, base, 0, "judged", score=number / 2, feedback="x" * (number % 3000))
        future = journal.submit(evaluation, Event("evaluated", str(number)))
        future.add_done_callback(lambda done, number=number: acknowledge(done, number))
    journal.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
