"""Hostile candidates, each a `plan.py` whose `value()` is 1 if the attack worked, and 0 if it did not.

An honest evaluator prints that number. Whatever else happens (a failure, a time-out, tampering found) is
fine; a score above 0 is not. The texts know `{root}` (the user's folder, with `holdout.txt`), `{scratch}`,
`{port}` (a server of the machine) and `{note}` (a name of this run's own).
"""

from __future__ import annotations

EVALUATE = """
import plan
print(max(0.0, min(1.0, float(plan.value()))))
"""
HONEST = "def value(): return 0.25"
FORGED = '{{"score": 1}}'


def _attempt(code: str, imports: str = "os") -> str:
    lines = "\n".join(f"        {line}" for line in code.strip().splitlines())
    return f"import {imports}\ndef value():\n    try:\n{lines}\n        return 1\n    except Exception: return 0\n"


QUICK: dict[str, str] = {
    "fork storm": """
import os, time
def value():
    for _ in range(1100):
        try:
            if os.fork() == 0:
                time.sleep(60); os._exit(0)
        except OSError: break
    return 0
""",
    "thread storm": """
import threading, time
def value():
    try:
        for _ in range(1100): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError: pass
    return 0
""",
    "daemon that leaves its session": """
import os, signal, time
def value():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
            time.sleep(60)
        os._exit(0)
    return 0
""",
    "shell in the background": "import subprocess\ndef value():\n"
    "    subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP; while :; do sleep 6123; done'])\n    return 0\n",
    "file of ten gigabytes": _attempt("with open({scratch!r} + '/big', 'wb') as f: f.truncate(10 * 2**30)"),
    "fills its scratch memory": _attempt(
        "block = b'x' * 2**24\nwith open('/dev/shm/fill', 'wb') as f:\n    for _ in range(1000): f.write(block)"
    ),
    "memory hog": _attempt("kept = [bytearray(2**24) for _ in range(200)]"),
    "descriptors without end": _attempt("kept = [os.open('/dev/null', 0) for _ in range(10**5)]"),
    "kills all it may": "import os, signal\ndef value():\n    os.kill(-1, signal.SIGKILL)\n    return 0\n",
    "kills the server": _attempt("os.kill(1, 9)\nimport time; time.sleep(0.05)\nos.kill(1, 0)\nreturn 0"),
    "kills itself": "import os\ndef value(): os.kill(os.getpid(), 9)",
    "aborts": "import os\ndef value(): os.abort()",
    "overflows the stack": "import sys\nsys.setrecursionlimit(10**9)\ndef value(): return value()",
    "writes the user's evaluator": _attempt("open({root!r} + '/evaluate.py', 'a').write('#')"),
    "writes it through a link": _attempt(
        "os.symlink({root!r} + '/evaluate.py', 'way')\nopen('way', 'a').write('#')"
    ),
    "replaces its folder by a link": "import os, shutil\ndef value():\n    here = os.getcwd()\n"
    "    os.symlink({root!r}, here + '/link')\n    shutil.rmtree(here, ignore_errors=True)\n    return 0\n",
    "reads the holdout": _attempt("assert open({root!r} + '/holdout.txt').read()"),
    "reads the holdout by dots": _attempt("assert open('../root/holdout.txt').read()"),
    "reads the holdout through other processes": _attempt(
        "for pid in os.listdir('/proc'):\n    for way in ('root', 'cwd'):\n"
        "        path = '/proc/' + pid + '/' + way + {root!r} + '/holdout.txt'\n"
        "        if pid.isdigit() and os.path.exists(path): return 1\nreturn 0"
    ),
    "reads keys": _attempt(
        "text = repr(dict(os.environ))\nfor pid in os.listdir('/proc'):\n    try: text += "
        "open('/proc/' + pid + '/environ').read()\n    except OSError: pass\nassert 'sesame' in text"
    ),
    "reaches the machine's network": _attempt("socket.create_connection(('127.0.0.1', {port}), 2)", "socket"),
    "mounts and unmounts": _attempt(
        "libc = ctypes.CDLL(None)\nassert libc.umount2({root!r}.encode(), 2) == 0 or libc.unshare(0x10020000) == 0",
        "ctypes",
    ),
    "looks into the server": _attempt("assert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0", "ctypes"),
    "leaves notes for the next": """
import os
PLACES = ("/tmp/", "/var/tmp/", "/dev/shm/", {scratch!r} + "/", os.path.expanduser("~") + "/")
def value():
    found = [place for place in PLACES if os.path.exists(place + {note!r})]
    for place in PLACES:
        try: open(place + {note!r}, "w").close()
        except OSError: pass
    return 1 if found else 0
""",
    "folders without end": """
import os
def value():
    os.chdir({scratch!r})
    for _ in range(600):
        os.mkdir("d"); os.chdir("d")
    os.chmod(".", 0)
    return 0
""",
    "prints a result and leaves": f"import os\ndef value():\n    os.write(1, b'{FORGED}\\n'); os._exit(0)\n",
    "prints a result at exit": f"import atexit\natexit.register(print, '{FORGED}')\ndef value(): return 0\n",
    "prints results without end": "import subprocess\ndef value():\n"
    "    subprocess.Popen(['sh', '-c', 'while :; do echo 1; done'])\n    return 0\n",
    "writes the result file": "import os\ndef value():\n"
    f"    open(os.environ['EVOLVE_RESULT'], 'w').write('{FORGED}')\n    return 0\n",
    "writes the result file from a child": "import os\ndef value():\n"
    "    os.system('echo 1 > $EVOLVE_RESULT')\n    return 0\n",
    "makes the result file a link": "import os\ndef value():\n"
    "    os.symlink('/etc/hostname', os.environ['EVOLVE_RESULT'])\n    return 0\n",
    "exchanges the builtins": "import builtins\nbuiltins.min = builtins.max = lambda *a: 1.0\ndef value(): return 0\n",
    "exchanges print": "import builtins\nreal = print\n"
    f"builtins.print = lambda *a: real('{FORGED}')\ndef value(): return 0\n",
}
SLOW: dict[str, str] = {
    "output without end": "def value():\n    while True: print('x' * 1000)\n",
    "ignores every signal": """
import signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
def value():
    while True: time.sleep(1)
""",
    "stops itself": "import os, signal\ndef value(): os.kill(os.getpid(), signal.SIGSTOP)\n",
    "stops the evaluator from a child": "import os, signal, subprocess\ndef value():\n"
    "    subprocess.run(['sh', '-c', 'kill -STOP $PPID'])\n    return 0\n",
    "spins": "def value():\n    while True: pass\n",
}


def text(name: str, **known: object) -> str:
    """The `plan.py` of a scenario."""
    return (QUICK.get(name) or SLOW[name]).format(**known)
