from __future__ import annotations

import threading

from archives import syntax

SOURCE = "x = [" + ", ".join(f"(({n} + 1) * {n}, {{{n}: [{n}]}})" for n in range(300)) + "]\n"


def test_many_threads_may_parse_at_once() -> None:
    faults: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                syntax.parse(SOURCE)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
