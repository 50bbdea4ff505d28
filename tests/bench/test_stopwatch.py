from typing import Any

import pytest

from benchmarks.engine import stopwatch
from benchmarks.engine.stopwatch import REST, Stopwatch, timed
from benchmarks.engine.time_shares import seams


class Clock:
    """A clock that goes only when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(stopwatch, "perf_counter", made)
    return made


def test_every_moment_belongs_to_the_innermost(clock: Clock) -> None:
    def failing() -> None:
        clock.now += 16
        raise ValueError("x")

    watch = Stopwatch()
    watch.start()
    clock.now += 1
    with watch.measuring("outer"):
        clock.now += 2
        with watch.measuring("inner"):
            clock.now += 4
        clock.now += 8
        with pytest.raises(ValueError, match="x"):
            watch.timed("inner", failing)()
    clock.now += 32
    watch.stop()
    assert watch.seconds == {REST: 33, "outer": 10, "inner": 20}
    assert watch.entered == {"outer": 1, "inner": 2}


def test_functions_of_every_sort_are_timed_and_given_back(clock: Clock) -> None:
    class Thing:
        def method(self, by: float) -> str:
            clock.now += by
            return "method"

        @property
        def value(self) -> str:
            clock.now += 10
            return "value"

        @classmethod
        def made(cls) -> type:
            clock.now += 100
            return cls

        @staticmethod
        def alone() -> str:
            clock.now += 1000
            return "alone"

    before = dict(vars(Thing))
    watch = Stopwatch()
    places: list[tuple[Any, str]] = [(Thing, name) for name in ("method", "value", "made", "alone")]
    with timed(watch, {"thing": places}):
        assert (Thing().method(1), Thing().value, Thing.made(), Thing.alone()) == (
            "method",
            "value",
            Thing,
            "alone",
        )
    assert watch.seconds["thing"] == 1111
    assert dict(vars(Thing)) == before


def test_a_seam_that_is_not_there_is_an_error_and_changes_nothing() -> None:
    class Thing:
        def there(self) -> None: ...

    before = Thing.there
    with pytest.raises(AttributeError), timed(Stopwatch(), {"a": [(Thing, "there"), (Thing, "gone")]}):
        pass
    assert Thing.there is before


def test_every_seam_of_the_profile_exists() -> None:
    for places in seams().values():
        assert places
        for owner, name in places:
            assert hasattr(owner, name), f"{owner.__name__} has no {name}"
