"""Notices the common ways in which code inside the evaluator's own process lies about itself.

Problem: an evaluator that imports a candidate shares everything with it: clocks, builtins, its own functions,
the channel for its result. Such code cannot be kept from anything, but most of what it can do leaves a trace.

Choice: a snapshot of the functions that results are made of, taken before anything of the user's is loaded
and compared at the end, and an audit hook, which Python code cannot remove again, that notes which files
were run and who opened the result file. Each finding names the file it comes from; whether a candidate may
change that file is known only outside, so there it is decided whether it counts.

What it cannot see: a patch that is taken back before the end, code that forges this module's own report,
and anything done by native code. Whoever has to be sure runs the candidate behind `evaluators.isolated`.
"""

from __future__ import annotations

import os
import sys
import types
from operator import is_
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

Callables = Tuple[types.ModuleType, List[str], List[Any], List[Any]]
"""A module, the names of what can be called in it, what these stand for, and its code where it has some."""
Snapshot = List[Callables]

Finding = Dict[str, Optional[str]]
"""`what` was found, the `file` it comes from (None where that cannot be told), and "shadow" as its `kind`
where it only counts if that file is new."""

_WATCHED = (
    *("builtins", "time", "timeit", "math", "json", "json.encoder", "random", "statistics", "operator"),
    *("functools", "itertools", "subprocess", "os", "sys", "io", "importlib"),
)
_WRITING = os.O_WRONLY | os.O_RDWR
_AT_START = ("sitecustomize", "usercustomize")
_MOST = 20


def snapshot() -> Snapshot:
    """Return the functions that results are made of, as they are now."""
    modules = [sys.modules.get(name) for name in _WATCHED]
    return [_callables(module) for module in modules if module is not None]


class Watch:
    """What was there before the evaluator ran, and what has happened since.

    Attributes:
        executed: Python files that this process has run, in order.
        copies: Files elsewhere that are copies of files of the checkout, and whose.
        wrote_result: Whether this process has opened the result file to write to it.
    """

    def __init__(self, checkout: str, result: str | None) -> None:
        self._checkout = os.path.realpath(checkout)
        self._result = result
        self._own = os.getpid()
        self._before: Snapshot = []
        self._loaded: Snapshot = []
        self._places: dict[str, str] = {}
        self._found: list[Finding] = []
        self.executed: dict[str, None] = {}
        self.copies: dict[str, str] = {}
        self.wrote_result = False

    def begin(self, before: Snapshot | None = None) -> None:
        """Set the hook.

        Args:
            before: What was taken before this process was forked, if anything was; None takes it now.
        """
        self._before = snapshot() if before is None else before
        sys.addaudithook(self._hear)

    def remember(self, module: types.ModuleType) -> None:
        """Take a module of the evaluator's into the snapshot as it is now."""
        self._loaded.append(_callables(module))

    def where(self, frame: types.FrameType | None) -> str | None:
        """Return the innermost file of the checkout in a stack."""
        while frame is not None:
            if self._inside(frame.f_code.co_filename):
                return self._original(frame.f_code.co_filename)
            frame = frame.f_back
        return None

    def raised(self, error: BaseException) -> str | None:
        """Return the innermost file of the checkout that an exception came through."""
        found, trace = None, error.__traceback__
        while trace is not None:
            path = trace.tb_frame.f_code.co_filename
            found = self._original(path) if self._inside(path) else found
            trace = trace.tb_next
        return found

    def findings(self, main: types.CodeType | None, namespace: dict[str, Any]) -> list[Finding]:
        """Return what was found, at most twenty things.

        Args:
            main: Code of the evaluator's own file.
            namespace: What that file's names stand for now.
        """
        found = [*self._found, *self._replaced(), *self._overwritten(main, namespace), *self._shadowing()]
        found = [{**one, "file": self._original(one["file"])} for one in found]
        unique = {(one["what"], one["file"]): one for one in found}
        return list(unique.values())[:_MOST]

    def files(self) -> list[str]:
        """Return the files of the checkout that this process has run."""
        return [self._original(path) or path for path in self.executed if self._inside(path)]

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "exec":
            name = getattr(args[0], "co_filename", None)
            if isinstance(name, str):
                self.executed.setdefault(name)
        elif event == "open":
            if args[0] == self._result and _writes(args[1], args[2]):
                self._note_writer()
        elif event == "evolve.watch":
            if isinstance(args[0], types.ModuleType):
                self.remember(args[0])
        elif event == "os.rename" and args[1] == self._result:
            self._note_writer()

    def _note_writer(self) -> None:
        if os.getpid() != self._own:
            return
        self.wrote_result = True
        path = self.where(sys._getframe(2))
        if path is not None:
            self._found.append({"what": "the result file was written", "file": path})

    def _inside(self, path: str) -> bool:
        return path in self.copies or (
            os.path.isabs(path) and self._place(path).startswith(self._checkout + os.sep)
        )

    def _place(self, path: str) -> str:
        """Return where an absolute path leads; each folder above it is looked at once."""
        place = self._places.get(path)
        if place is None:
            folder, name = os.path.split(path)
            if folder == path or name in ("", ".", "..") or os.path.islink(path):
                place = os.path.realpath(path)
            else:
                place = os.path.join(self._place(folder), name)
            self._places[path] = place
        return place

    def _same(self, one: str, other: str) -> bool:
        return self._place(os.path.abspath(one)) == self._place(os.path.abspath(other))

    def _elsewhere(self, name: str, path: str, entries: list[str]) -> bool:
        for entry in entries:
            for other in (f"{entry}/{name}.py", f"{entry}/{name}/__init__.py"):
                if os.path.isfile(other) and not self._same(other, path):
                    return True
        return False

    def _original(self, path: str | None) -> str | None:
        return self.copies.get(path, path) if path else path

    def _changed(self) -> Iterator[tuple[types.ModuleType, str, Any, Any]]:
        """Return what to look at more closely: all of a module in which anything was replaced."""
        for module, names, values, codes in [*self._before, *self._loaded]:
            now = [vars(module).get(name) for name in names]
            if not (_same_objects(now, values) and _same_objects(_codes(now), codes)):
                yield from ((module, *entry) for entry in zip(names, values, codes))

    def _replaced(self) -> Iterator[Finding]:
        for module, name, value, code in self._changed():
            now = vars(module).get(name)
            if now is value and getattr(now, "__code__", None) is code:
                continue
            if not callable(now):
                continue  # what cannot be called fakes nothing
            known, path = _origin(now)
            if known and not (path and self._inside(path)):
                continue  # a library's own doing
            found = path if path and self._inside(path) else None
            yield {"what": f"{module.__name__}.{name} was replaced", "file": found}

    def _overwritten(self, main: types.CodeType | None, namespace: dict[str, Any]) -> Iterator[Finding]:
        """Find functions of the evaluator's own file whose code is now that of another file."""
        if main is None:
            return
        for const in main.co_consts:
            if not isinstance(const, types.CodeType) or not const.co_name.isidentifier():
                continue
            code = getattr(namespace.get(const.co_name), "__code__", None)
            path = getattr(code, "co_filename", None)
            if path and path != main.co_filename and self._inside(path):
                yield {"what": f"the evaluator's function {const.co_name} was replaced", "file": path}

    def _shadowing(self) -> Iterator[Finding]:
        """Find modules of the checkout that stand in the way of others of the same name."""
        entries = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]
        standard = getattr(sys, "stdlib_module_names", frozenset(sys.builtin_module_names))
        for path in self.files():
            folder, file = os.path.split(path)
            name = os.path.splitext(file)[0]
            if name == "__init__":
                folder, name = os.path.split(folder)
            if not any(self._same(folder, entry) for entry in entries):
                continue
            if name in standard or name in _AT_START or self._elsewhere(name, path, entries):
                yield {"what": f"the module {name} was shadowed", "file": path, "kind": "shadow"}


def before_start(folders: list[str]) -> list[Finding]:
    """Find files of a checkout that Python would run before the evaluator."""
    found: list[Finding] = []
    for folder in dict.fromkeys(folders):
        for name in _AT_START:
            for path in (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py"):
                if os.path.lexists(path):
                    what = f"{name} runs before the evaluator"
                    found.append({"what": what, "file": path, "kind": "shadow"})
    return found


def _callables(module: types.ModuleType) -> Callables:
    found = {
        name: value
        for name, value in list(vars(module).items())
        if callable(value) and not (name.startswith("__") and name != "__import__")
    }
    return module, list(found), list(found.values()), _codes(found.values())


def _codes(values: Iterable[Any]) -> list[Any]:
    return [getattr(value, "__code__", None) for value in values]


def _same_objects(some: Iterable[Any], others: Iterable[Any], every: Any = all, each: Any = map) -> bool:
    """Return whether the objects are the same ones; with the builtins of the start, in no one's own words."""
    return bool(every(each(is_, some, others)))


def _origin(value: Any) -> tuple[bool, str | None]:
    """Return whether it can be told where a value was written, and in which file."""
    code = getattr(value, "__code__", None)
    if isinstance(code, types.CodeType):
        return os.path.isabs(code.co_filename), code.co_filename
    if isinstance(value, type):
        module = sys.modules.get(getattr(value, "__module__", ""))
        path = getattr(module, "__file__", None)
        return isinstance(path, str), path
    kind = sys.modules.get(type(value).__module__)
    return False, getattr(kind, "__file__", None) if type(value).__module__ != "builtins" else None


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITING)
