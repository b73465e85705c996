"""A coding agent in its checkout: what it changes is the proposal, and the hosts it names are all it reaches."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from operator_store import Repo

from evolve.budget import Budget
from evolve.models.errors import BudgetSpent, NoModelAnswers
from evolve.models.ledger import Ledger
from evolve.models.tokens import estimate
from evolve.operators.agent import TRIES, Agent, words
from evolve.operators.base import Draft, Refused
from evolve.prompts.composing import Composer
from evolve.prompts.templates import load
from evolve.proxy import allowed
from evolve.workshop import AgentSpec, Workshop

GROW = "for f in ('a.txt', 'b.txt'):\n    s = open(f).read()\n    open(f, 'w').write(s + 'more\\n')\n"


class Desk:
    """A repository with three files, one of them held out, and an agent that is a Python script."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder, {"a.txt": "a\n", "b.txt": "b\n", "judge.py": "1\n", "holdout/x": "secret\n"})
        self.home = folder / ("a-path-longer-than-a-socket-may-have-" * 3) / "campaign"
        self.home.mkdir(parents=True)
        self.ledger = Ledger(Budget({"usd": 1.0}))
        self.script = folder / "tool" / "agent.py"
        self.script.parent.mkdir()
        self.source = type(self.repo.source)(self.repo.store, lambda path: path.endswith(".txt"))

    def agent(self, **options: object) -> Agent:
        spec = AgentSpec(
            "helper", f"{sys.executable} {self.script} {{prompt}}", read=(self.script.parent,), **options
        )  # type: ignore[arg-type]
        hidden = lambda path: path.startswith("holdout/")  # noqa: E731
        shop = Workshop(self.repo.store, self.home / "agents", self.repo.root, "", self.home, hidden)
        return Agent(shop, spec, ["*.txt"], Composer(load(), estimate), self.ledger)

    async def ask(self, code: str, agent: Agent | None = None, **options: object) -> Draft:
        self.script.write_text(code)
        agent = agent or self.agent(**options)
        return await agent.propose_async(self.repo.order(parent_score=1.0, goal="grow"), self.source)

    def log(self) -> str:
        return (self.home / "agents" / "logs" / "000001.log").read_text()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.trio
async def test_what_it_changed_in_two_files_is_the_draft_and_its_litter_is_not(desk):
    litter = "import os\nos.mkdir('cache')\nopen('cache/x.bin', 'w').write('x')\n"
    draft = await desk.ask(GROW + litter + "print('SUMMARY: Both grow.')")
    assert draft.changes == {"a.txt": b"a\nmore\n", "b.txt": b"b\nmore\n"}
    assert (draft.summary, draft.model) == ("Both grow", "helper")
    assert desk.ledger.budget.spent == {"tokens": 0.0}
    assert "SUMMARY: Both grow." in desk.log()


@pytest.mark.trio
async def test_new_and_deleted_files_count(desk):
    draft = await desk.ask(
        "import os\nos.remove('a.txt')\nos.mkdir('new')\nopen('new/c.txt', 'w').write('c')"
    )
    assert draft.changes == {"a.txt": None, "new/c.txt": b"c"}


@pytest.mark.trio
async def test_a_change_of_a_protected_file_is_in_the_draft_so_that_the_whole_is_refused(desk):
    draft = await desk.ask("open('judge.py', 'w').write('100\\n')")
    assert draft.changes == {"judge.py": b"100\n"}


@pytest.mark.trio
async def test_it_sees_no_holdout_no_campaign_and_only_the_named_variables(desk, monkeypatch):
    monkeypatch.setenv("NAMED", "n")
    monkeypatch.setenv("OTHER", "o")
    code = (
        "import os\n"
        f"seen = [os.path.exists(p) for p in ('holdout', {str(desk.home / 'agents' / 'logs')!r})]\n"
        "open('a.txt', 'w').write(repr([*seen, os.environ.get('NAMED'), os.environ.get('OTHER')]))\n"
    )
    draft = await desk.ask(code, env=("NAMED",))
    assert draft.changes == {"a.txt": b"[False, False, 'n', None]"}


@pytest.mark.trio
async def test_behind_a_folder_that_became_a_link_nothing_is_read(desk):
    draft = await desk.ask(
        "import os\nos.symlink('/etc', 'linked')\nos.remove('a.txt')\nos.symlink('/etc/passwd', 'a.txt')"
    )
    assert draft.changes == {"a.txt": None}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit('no credit')", "helper: exit 1: no credit"),
        ("import time\nprint('x', flush=True)\ntime.sleep(60)", "helper: time limit of 1 s reached"),
        ("open('a.txt', 'wb').truncate(9 << 20)", "helper: a.txt is larger than 8 MiB"),
    ],
)
@pytest.mark.trio
async def test_one_that_fails_is_refused_with_the_reason(desk, code, reason):
    with pytest.raises(Refused) as refused:
        await desk.ask(code, timeout=1.0, usd=0.5)
    assert str(refused.value) == reason
    assert desk.ledger.budget.spent["usd"] == 0.5


@pytest.mark.trio
async def test_one_that_never_works_is_given_up_and_one_that_has_worked_is_not(desk):
    agent = desk.agent()
    for _ in range(TRIES - 1):
        with pytest.raises(Refused):
            await desk.ask("raise SystemExit(1)", agent)
    with pytest.raises(NoModelAnswers, match="exit 1"):
        await desk.ask("raise SystemExit(1)", agent)
    agent = desk.agent()
    await desk.ask(GROW, agent)
    for _ in range(TRIES):
        with pytest.raises(Refused):
            await desk.ask("raise SystemExit(1)", agent)


@pytest.mark.trio
async def test_it_reaches_the_host_that_is_named_and_no_other(desk):
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.path.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hello)
    Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    code = (
        "import urllib.request\n"
        "def get(url):\n"
        "    try:\n        return urllib.request.urlopen(url, timeout=10).read().decode()\n"
        "    except Exception as error:\n        return type(error).__name__ + str(getattr(error, 'code', ''))\n"
        f"found = [get('http://127.0.0.1:{port}/v1?x=1'), get('http://127.0.0.1:{port + 1}/'), get('https://example.org/')]\n"
        "open('a.txt', 'w').write(' '.join(found))\n"
    )
    try:
        draft = await desk.ask(code, hosts=(f"127.0.0.1:{port}",))
    finally:
        server.shutdown()
        server.server_close()
    assert draft.changes == {"a.txt": b"/v1?x=1 HTTPError403 URLError"}
    assert "host refused: example.org:443" in desk.log()


@pytest.mark.trio
async def test_it_is_not_started_where_the_budget_does_not_leave_what_it_may_cost(desk):
    await desk.ask(GROW + 'print(\'{"result": "SUMMARY: grown", "total_cost_usd": 0.75}\')', usd=0.9)
    assert desk.ledger.budget.spent["usd"] == 0.75
    with pytest.raises(BudgetSpent):
        await desk.ask(GROW, usd=0.9)
    assert desk.ledger.budget.spent["usd"] == 0.75


def test_names_of_hosts():
    assert allowed("API.example.com", 443, ["api.example.com"])
    assert not allowed("api.example.com", 22, ["api.example.com"])
    assert allowed("a.b.example.com", 80, ["*.example.com"])
    assert not allowed("badexample.com", 443, ["*.example.com"])
    assert allowed("localhost", 8000, ["localhost:8000"])
    assert not allowed("localhost", 443, ["localhost:8000"])


@pytest.mark.parametrize(
    ("stdout", "said", "cost"),
    [
        (b'{"type": "result", "result": "done", "total_cost_usd": 0.25}\n', "done", 0.25),
        (b"plain words\n", "plain words\n", None),
        (b'{"result": "x", "total_cost_usd": -1}', "x", None),
        (b"[1, 2]", "[1, 2]", None),
        (b"", "", None),
    ],
)
def test_an_agent_may_tell_what_it_cost(stdout, said, cost):
    assert words(stdout) == (said, cost)
