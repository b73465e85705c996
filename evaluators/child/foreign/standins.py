"""Stand-ins for packages that evaluators of other systems import and that are not installed here.

Each holds what an evaluator, as opposed to the search around it, uses of its package. Other names that a file
imports from it (its configuration classes, its start function) are there too, as things that accept
anything and do nothing, so that a file which also holds the start script can be imported.
"""

from __future__ import annotations

import importlib.util
import io
import sys
import threading
import types
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict

from . import shinkaeval


def openevolve() -> None:
    """Stand in for `openevolve`."""
    if not _installed("openevolve"):
        package = _module("openevolve")
        _module("openevolve.evaluation_result", EvaluationResult=EvaluationResult)
        package.EvaluationResult = EvaluationResult  # type: ignore[attr-defined]


def shinka() -> None:
    """Stand in for `shinka`."""
    if not _installed("shinka"):
        names = {name: getattr(shinkaeval, name) for name in shinkaeval.__all__}
        _module("shinka")
        _module("shinka.core", **names)
        _module("shinka.core.wrap_eval", **names)
        _module("shinka.utils")
        _module("shinka.utils.eval_stop", **{n: v for n, v in names.items() if "EarlyStop" in n})


def gepa() -> None:
    """Stand in for `gepa`."""
    if not _installed("gepa"):
        package = _module("gepa")
        _module("gepa.image", Image=Image)
        _module(
            "gepa.optimize_anything",
            Image=Image,
            LogContext=LogContext,
            OptimizationState=OptimizationState,
            SideInfo=Dict[str, Any],
            log=log,
            get_log_context=get_log_context,
            set_log_context=set_log_context,
        )
        package.Image = Image  # type: ignore[attr-defined]


def _installed(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class _StandIn(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Anything,), {"__module__": self.__name__})


class _Anything:
    """Accepts every argument and has every attribute."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Anything()


def _module(name: str, **names: Any) -> types.ModuleType:
    module = _StandIn(name)
    module.__path__ = []
    vars(module).update(names)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


@dataclass
class EvaluationResult:
    """OpenEvolve's result with artifacts."""

    metrics: dict[str, Any]
    artifacts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics: dict[str, Any]) -> EvaluationResult:
        """Wrap plain metrics."""
        return cls(metrics=metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics."""
        return self.metrics

    def has_artifacts(self) -> bool:
        """Whether there are artifacts."""
        return bool(self.artifacts)

    def get_artifact_keys(self) -> list[str]:
        """Return the artifacts' names."""
        return list(self.artifacts)

    def get_artifact_size(self, key: str) -> int:
        """Return the bytes of one artifact; 0 if there is none of this name."""
        if key not in self.artifacts:
            return 0
        value = self.artifacts[key]
        return len(value) if isinstance(value, bytes) else len(str(value).encode("utf-8"))

    def get_total_artifact_size(self) -> int:
        """Return the bytes of all artifacts."""
        return sum(self.get_artifact_size(key) for key in self.artifacts)


EvaluationResult.__module__ = "openevolve.evaluation_result"


@dataclass
class OptimizationState:
    """GEPA's memory of earlier evaluations; an evaluation here knows of no other, so it is empty."""

    best_example_evals: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Image:
    """GEPA's picture in side information."""

    url: str | None = None
    path: str | None = None
    base64_data: str | None = None
    media_type: str | None = None

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.url, self.path, self.base64_data)) != 1:
            raise ValueError("give exactly one of url, path and base64_data")
        if self.base64_data is not None and self.media_type is None:
            raise ValueError("base64_data needs a media_type")

    def __str__(self) -> str:
        return f"(picture: {self.url or self.path or self.media_type})"


class LogContext:
    """What one call of an evaluator has logged, from whichever of its threads."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Add text."""
        with self._lock:
            self._text.write(text)

    def drain(self) -> str:
        """Take everything out."""
        with self._lock:
            text, self._text = self._text.getvalue(), io.StringIO()
            return text


_current = threading.local()


def get_log_context() -> LogContext:
    """Return the context of the call under way."""
    context = getattr(_current, "context", None)
    if context is None:
        raise RuntimeError("there is no log context outside an evaluator; hand it on with set_log_context()")
    found: LogContext = context
    return found


def set_log_context(context: LogContext | None) -> None:
    """Let what this thread logs go into a context."""
    _current.context = context


def log(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Log like `print`, into the side information of the call under way."""
    context = getattr(_current, "context", None)
    if context is None:
        warnings.warn("oa.log() outside an evaluator: the text is lost", stacklevel=2)
    else:
        context.write(sep.join(map(str, args)) + end)
