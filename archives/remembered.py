"""Results by key, within bounds, for several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Results by key; the least recently used are forgotten first.

    Args:
        most: How much is kept.
        weigh: How much a result counts; one that counts for more than a quarter of all is not kept.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int] = lambda value: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """What is known of a key; None if nothing is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Remember a result."""
        weight = self._weigh(value)
        with self._lock:
            if (old := self._values.pop(key, None)) is not None:
                self._weight -= self._weigh(old)
            if weight > max(1, self._most // 4):
                return
            self._values[key] = value
            self._weight += weight
            while self._weight > self._most:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
