"""What an evaluation cannot do behind walls; each attempt is made from inside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import trio
from evaluator_bench import REQUEST, Slot, walls_available

from archives.errors import EvaluatorError
from evaluators import sandbox
from evaluators.contract import Outcome
from evaluators.sandbox import described, probe

pytestmark = pytest.mark.skipif(not walls_available(), reason="this machine gives no user namespaces")

ATTEMPT = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
try:
    {attempt}
except OSError as error:
    print(0)
else:
    print(1)
"""


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot.make(tmp_path)


def outcome_of(slot: Slot, attempt: str) -> Outcome:
    slot.write(evaluate=ATTEMPT.format(attempt=attempt))
    return slot.evaluate()


@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/evolve-was-here', 'w')",
        "open('/usr/evolve-was-here', 'w')",
        "open('/proc/sys/user/max_user_namespaces', 'w').write('9')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
        "open('/proc/1/mem', 'rb')",
        "open('/proc/1/environ', 'rb').read()",
        "os.listdir('/proc/1/root')",
        "call(libc.ptrace(16, 1, 0, 0))",
        "call(libc.unshare(0x10000000))",
        "call(libc.unshare(0x00020000))",
        "call(libc.umount2(b'/tmp', 2))",
        "call(libc.umount2(b'/proc', 2))",
        "call(libc.mount(None, b'/', None, 32 | 4096, None))",
        "os.mknod('disk', 0o60600, os.makedev(254, 0))",
        "os.chroot('/tmp')",
        "socket.sethostname('mine')",
        "os.setuid(1 if os.getuid() == 0 else 0)",
        "open('/sys/kernel/mm/transparent_hugepage/enabled', 'w')",
    ],
)
def test_a_forbidden_call_is_refused(slot: Slot, attempt: str) -> None:
    assert outcome_of(slot, attempt).score == 0.0


def test_what_is_allowed_works(slot: Slot) -> None:
    slot.write(
        evaluate="""
import multiprocessing, os, socket, tempfile
for folder in (".", "/tmp", "/dev/shm", "/var/tmp", os.environ["HOME"]):
    with open(folder + "/x", "w") as file:
        file.write("x")
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(1)
socket.create_connection(server.getsockname(), 5).close()
open("/dev/null", "w").write("x")
assert len(open("/dev/urandom", "rb").read(4)) == 4
with multiprocessing.Pool(2) as pool:
    print(sum(pool.map(abs, [-1, -2])))
"""
    )
    assert slot.evaluate(times=2).score == 3.0


def test_hidden_folders_and_the_repository_appear_empty(slot: Slot, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(slot.root)], check=True)
    (slot.root / "holdout.txt").write_text("secret")
    campaign = tmp_path / "campaign"
    campaign.mkdir()
    (campaign / "campaign.db").write_text("secret")
    below = campaign / "checkouts"
    below.mkdir()
    slot.checkout.rename(below / "slot")
    slot.checkout = below / "slot"
    slot.write(
        evaluate=f"""
import os
seen = []
for folder in ({str(slot.root)!r}, {str(campaign)!r}, {str(Path.home())!r}, "/run"):
    for top, folders, files in os.walk(folder):
        seen += [top + "/" + name for name in files if name in ("holdout.txt", "campaign.db", ".bashrc")]
        folders[:] = [name for name in folders if name not in (".pyenv", ".venv")]
print(len(seen))
"""
    )
    assert slot.evaluate(hide=(campaign,)).score == 0.0


@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_reached_only_if_allowed(slot: Slot, network: bool) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        slot.write(evaluate=ATTEMPT.format(attempt=f"socket.create_connection({server.getsockname()!r}, 5)"))
        assert slot.evaluate(network=network).score == float(network)


def test_killing_everything_in_sight_ends_only_the_own_evaluation(slot: Slot) -> None:
    slot.write(
        evaluate="import os\nfor pid, number in ((1, 9), (1, 15), (1, 2), (-1, 9), (os.getpid(), 9)):\n"
        "    os.kill(pid, number)\n"
    )

    async def main() -> list[Outcome]:
        async with slot.runner() as runner:
            first = await runner.evaluate(REQUEST)
            slot.write(evaluate="print(1)")
            return [first, await runner.evaluate(REQUEST)]

    killer, after = trio.run(main)
    assert killer.verdict == "failed" and after.score == 1.0


def test_shared_memory_of_one_evaluation_is_not_there_for_the_next(slot: Slot) -> None:
    slot.write(
        evaluate="""
import ctypes
libc = ctypes.CDLL(None)
print(1 if libc.shmget(4711, 4096, 0) >= 0 else 0)
assert libc.shmget(4711, 4096, 0o1600) >= 0
"""
    )
    assert slot.evaluate(times=2).score == 0.0


def test_a_death_of_the_server_from_outside_is_not_held_against_the_candidate(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluators.runner.RETRY_PAUSES", (0.01,))
    slot.write(
        evaluate="""
import os, time
if not os.path.exists("again"):
    open("again", "w").close()
    time.sleep(30)
print(5)
"""
    )

    async def kill(runner: object) -> None:
        while not (slot.checkout / "again").exists():
            await trio.sleep(0.01)
        os.kill(runner._server._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]

    async def main() -> Outcome:
        async with slot.runner() as runner, trio.open_nursery() as nursery:
            nursery.start_soon(kill, runner)
            return await runner.evaluate(REQUEST)

    outcome = trio.run(main)
    assert (outcome.score, outcome.attempts) == (5.0, 2)


def test_the_probe_names_tier_and_walls() -> None:
    found = probe("auto")
    assert found.tier == "namespaces" and "no network" in found.walls
    assert probe("none").tier == "processes" and "no network" in probe("none").missing


def test_strict_refuses_a_machine_without_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_try_walls", lambda: described(False, (), False, "not permitted"))
    with pytest.raises(EvaluatorError, match="not permitted"):
        probe("strict")
    assert probe("auto").reason == "not permitted"


def test_without_walls_the_runner_falls_back_or_refuses(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluators.process import NoWalls, ServerProcess

    real = ServerProcess.start.__func__  # type: ignore[attr-defined]

    async def start(cls: type[ServerProcess], python: str, config: dict[str, object]) -> ServerProcess:
        if config["walls"]:
            raise NoWalls("not permitted")
        return await real(cls, python, config)  # type: ignore[no-any-return]

    monkeypatch.setattr(ServerProcess, "start", classmethod(start))
    slot.write(evaluate="print(1)")

    async def main(mode: str) -> tuple[str, str | None]:
        async with slot.runner(sandbox=mode) as runner:
            assert (await runner.evaluate(REQUEST)).score == 1.0
            return runner.sandbox.tier, runner.sandbox.reason

    assert trio.run(main, "auto") == ("processes", "not permitted")
    with pytest.raises(EvaluatorError, match="strict"):
        trio.run(main, "strict")
