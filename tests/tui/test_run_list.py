"""The list of runs: its filter, its cursor and its marks."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from rig.core.events import Speed
from rig.core.meters import Costs
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.store import ArmSums, StoredArm, StoredRun
from tui.widgets.lists import StoredRunList

ARM = StoredArm(0, "smollm2-135m", {}, None, 1.0, Costs(), {}, ArmSums({}, Speed()))
RUN = StoredRun(
    id="aaaaa",
    name="first",
    created=datetime(2026, 11, 21, 12, tzinfo=UTC),
    finished=datetime(2026, 11, 21, 13, tzinfo=UTC),
    rig="1",
    settings={"suite": "easy"},
    repeats=1,
    conversations=("a",),
    turns=2,
    turns_done=2,
    is_running=False,
    arms=(ARM,),
    declaration=DECLARATION,
)


def runs(*ids: str) -> list[StoredRun]:
    return [replace(RUN, id=each, name=f"run {each}") for each in ids]


def run_list(*ids: str) -> StoredRunList:
    made = StoredRunList()
    made.take(runs(*ids))
    return made


def test_words_are_looked_for_in_all_that_is_known_of_a_run() -> None:
    made = run_list("aaaaa", "bbbbb")
    other = replace(RUN, id="ccccc", name=None, finished=None, settings={"suite": "hard"})
    made.take([*made.runs, other])
    for term, found in (
        ("bbb", ["bbbbb"]),
        ("RUN AAA", ["aaaaa"]),
        ("interrupted", ["ccccc"]),
        ("finished smollm", ["aaaaa", "bbbbb"]),
        ("suite=hard", ["ccccc"]),
        ("2026-11-21", ["aaaaa", "bbbbb", "ccccc"]),
        ("nothing", []),
        ("  ", ["aaaaa", "bbbbb", "ccccc"]),
    ):
        made.filter(term)
        assert [run.id for run in made.visible] == found
        assert (made.run is not None) == bool(found)


def test_the_cursor_stays_with_its_run() -> None:
    made = run_list("aaaaa", "bbbbb", "ccccc")
    made.move(1)
    made.take(runs("ddddd", "aaaaa", "bbbbb", "ccccc"))
    assert made.run is not None
    assert (made.run.id, made.place) == ("bbbbb", 2)
    made.take(runs("ddddd", "aaaaa", "ccccc"))
    assert made.run.id == "ccccc"
    made.take([])
    assert made.run is None
    made.move(1)
    made.take(runs("eeeee"))
    assert made.run is not None


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("take"), st.lists(st.sampled_from("abcdef"), unique=True)),
            st.tuples(st.just("move"), st.integers(-3, 3)),
            st.tuples(st.just("filter"), st.sampled_from(["", "a", "run b", "zzz"])),
        ),
        max_size=20,
    )
)
def test_the_cursor_is_always_on_a_run_in_sight(operations: list[tuple[str, object]]) -> None:
    made = StoredRunList()
    for _, value in operations:
        if isinstance(value, list):
            made.take(runs(*value))
        elif isinstance(value, int):
            made.move(value)
        else:
            made.filter(str(value))
        assert made.run in (made.visible or [None])
        assert 0 <= made.place < max(len(made.visible), 1)
