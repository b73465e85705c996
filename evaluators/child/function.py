"""The function form: load the evaluator from the checkout, call it, hand back what it returns.

The answer goes over a private pipe and not over standard output, which the candidate shares, and holds a
word that only this process was given. A process that ends without having answered has judged nothing,
whatever it printed and with whatever code it left.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
import types
from typing import Any, Callable, Mapping

from . import channel as way
from . import integrity, starting

_dumps = json.dumps
EXIT_COULD_NOT_JUDGE = 75


def answer(
    pipe: int,
    word: str,
    config: Mapping[str, Any],
    request: Mapping[str, Any],
    baseline: frozenset[str],
    before: integrity.Snapshot,
) -> int:
    """Call the evaluator's function and write the answer to `pipe`; return the exit code."""
    own = os.getpid()
    code = 1
    watch = integrity.Watch(config["checkout"], os.environ.get("EVOLVE_RESULT"))
    watch.begin(before)
    channel = way.Channel(
        pipe, watch, lambda reply: _write_all(pipe, (word + _dumps(reply)).encode("utf-8", "surrogatepass"))
    )
    try:
        reply = _call(config, request, channel)
        code = 0
    except SystemExit as left:
        if left.code == EXIT_COULD_NOT_JUDGE:
            reply, code = {"come_back": True}, EXIT_COULD_NOT_JUDGE
        else:
            fault = f"the function called exit({left.code!r}) before it returned"
            reply = {"fault": fault, "left_in": watch.raised(left)}
    except way.Failed as error:
        reply = {"fault": str(error)}
    except BaseException as error:  # whatever the user's code raises is an answer too
        traceback.print_exception(type(error), error, _without_us(error.__traceback__))
        reply = {"fault": _headline(error)}
    if os.getpid() != own:  # a fork made by the candidate came back here
        os._exit(1)
    if config["warm"]:
        reply["modules"] = libraries(config, baseline)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed or replaced by the candidate; the answer does not depend on it
    channel.send(reply)
    return code


def _call(config: Mapping[str, Any], request: Mapping[str, Any], channel: way.Channel) -> dict[str, Any]:
    if config.get("foreign"):
        from . import foreign  # loaded when the server started, for nothing can be read from behind the walls

        value = foreign.evaluate(config, dict(request), channel)
    else:
        value = _load(config, channel)(config["work"], dict(request))
    if hasattr(value, "__await__"):
        import asyncio

        value = asyncio.run(_await(value))
    try:
        return {"returned": _dumps(value, default=_plain)}
    except (TypeError, ValueError, RecursionError) as error:
        return {"unreadable": f"the function returned what JSON cannot hold: {error}"}


async def _await(value: Any) -> Any:
    return await value


def _load(config: Mapping[str, Any], channel: way.Channel) -> Callable[..., Any]:
    path = os.path.join(config["work"], config["file"])
    name = os.path.splitext(os.path.basename(path))[0]
    starting.prepare(config, path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"{config['file']} is not in the checkout")
    module = starting.load(spec, spec.loader, channel)
    found: Callable[..., Any] | None = getattr(module, config["name"], None)
    if not callable(found):
        raise way.Failed(f"{config['file']} defines no function {config['name']}; correct evaluator.function")
    return found


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and arrays into what JSON knows."""
    for name in ("item", "tolist"):
        method = getattr(value, name, None)
        if method is not None and (name == "tolist" or getattr(value, "shape", None) == ()):
            return method()
    raise TypeError(f"a {type(value).__name__}")


def _without_us(trace: types.TracebackType | None) -> types.TracebackType | None:
    start = trace
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace or start


def _headline(error: BaseException) -> str:
    lines = traceback.format_exception_only(type(error), error)
    return f"the function raised {lines[-1].strip()}"


def libraries(config: Mapping[str, Any], baseline: frozenset[str]) -> list[str]:
    """Name the modules that were loaded from outside the checkout, in the order in which they were."""
    own = tuple(path + os.sep for path in (config["checkout"], config["scratch"], *config["follow"]))
    found = []
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None)
        if not isinstance(name, str) or not isinstance(origin, str) or name in baseline:
            continue
        if getattr(spec, "name", None) != name or name.startswith(("__main__", "_evolve_child")):
            continue
        path = os.path.realpath(origin)
        if origin in ("built-in", "frozen") or (os.path.isabs(origin) and not path.startswith(own)):
            found.append(name)
    return found[:5000]


def preload(names: list[str]) -> list[str]:
    """Import what can be imported; return those names."""
    loaded = []
    for name in names:
        try:
            __import__(name)
        except BaseException:  # some modules refuse to be imported twice, in this order, or at all
            continue
        loaded.append(name)
    return loaded


def _write_all(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
