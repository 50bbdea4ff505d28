from benchmarks.engine.spread import Spread, ratios


def test_a_spread_is_the_median_and_the_ends() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert Spread.of([4.0, 1.0]) == Spread(2.5, 1.0, 4.0, 2)
    assert Spread.of([]) is None
    one = Spread.of([7.0])
    assert one is not None
    assert one.as_json() == {"median": 7.0, "minimum": 7.0, "maximum": 7.0, "count": 1}


def test_ratios_are_taken_within_a_pass() -> None:
    # The machine was ten times as slow in the second pass; the ratio does not see it.
    assert ratios({0: 4.0, 1: 40.0}, {0: 2.0, 1: 20.0}) == [2.0, 2.0]


def test_a_pass_that_one_of_them_lacks_does_not_count() -> None:
    assert ratios({0: 4.0, 2: 6.0}, {1: 2.0, 2: 3.0}) == [2.0]
    assert ratios({0: 4.0}, {}) == []
    assert ratios({0: 4.0}, {0: 0.0}) == []
