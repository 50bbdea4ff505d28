"""Where the time of one thread goes: every moment belongs to the innermost of the things it is at."""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

REST = "the rest"


class Stopwatch:
    """Seconds by kind, each moment counted once."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.entered: Counter[str] = Counter()
        self._kinds = [REST]
        self._since = perf_counter()

    def start(self) -> None:
        """Forget what was counted; time counts from now."""
        self.seconds.clear()
        self.entered.clear()
        self._since = perf_counter()

    def stop(self) -> None:
        """Count the time until now."""
        self._switch()

    @contextmanager
    def measuring(self, kind: str) -> Iterator[None]:
        """Time spent inside belongs to this kind, except for what is measured further inside."""
        self._switch()
        self.entered[kind] += 1
        self._kinds.append(kind)
        try:
            yield
        finally:
            self._switch()
            self._kinds.pop()

    def timed(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time belonging to this kind."""

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with self.measuring(kind):
                return function(*arguments, **named)

        return call

    def _switch(self) -> None:
        now = perf_counter()
        self.seconds[self._kinds[-1]] += now - self._since
        self._since = now


@contextmanager
def timed(watch: Stopwatch, seams: dict[str, list[tuple[Any, str]]]) -> Iterator[None]:
    """While this lasts, calls of these functions (owner and attribute, by kind) are timed.

    Class methods, properties and static methods stay what they are. Raises AttributeError for a name that an
    owner does not have.
    """
    changed: list[tuple[Any, str, Any]] = []
    try:
        for kind, places in seams.items():
            for owner, name in places:
                original = owner.__dict__[name] if name in vars(owner) else getattr(owner, name)
                setattr(owner, name, _wrapped(watch, kind, original))
                changed.append((owner, name, original))
        yield
    finally:
        for owner, name, original in reversed(changed):
            setattr(owner, name, original)


def _wrapped(watch: Stopwatch, kind: str, original: Any) -> Any:
    if isinstance(original, property) and original.fget is not None:
        return property(watch.timed(kind, original.fget), original.fset, original.fdel)
    if isinstance(original, classmethod):
        return classmethod(watch.timed(kind, original.__func__))
    if isinstance(original, staticmethod):
        return staticmethod(watch.timed(kind, original.__func__))
    return watch.timed(kind, original)
