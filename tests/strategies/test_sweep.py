"""Sweeps: in which order levels are played, when they end, and what is told and kept of them."""

from itertools import groupby
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks
from graded_talks import model
from hypothesis import given
from hypothesis import strategies as st

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.core.errors import RigError
from rig.core.events import ConversationFinished, Event, EvidenceMoved
from rig.core.tasks import in_random_order
from rig.methods.scripted import Scripted
from rig.plugins.strategies.breaking import Bisection, Break
from rig.plugins.strategies.curve_verb import curves_text
from rig.plugins.strategies.levels import curves_of
from rig.plugins.strategies.sweep import CAUTION, Sweep, swept
from rig.running.control import Control
from rig.running.plan import Arm, Plan
from rig.running.runner import run
from rig.show.card import Card
from rig.show.compare import sparkline
from rig.store import Runs
from tui.live.state import RunState

N = 32
TASKS = tuple(in_random_order(graded_talks.conversations(N), 0))
SIZE = 0.2
QUESTION = ComparisonOptions(loss=100 * SIZE)
LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8)
NAMES = tuple(f"m temperature={level}".removesuffix(".0") for level in LEVELS)


def plan(store: Path, *models: Scripted, **choices: Any) -> Plan:
    names = choices.pop("names", NAMES)
    settings = small_talks.ToolTalkSettings(max_calls=3)
    arms = tuple(
        Arm(name, lambda _, one=one: one, settings)  # type: ignore[misc]
        for name, one in zip(names, models, strict=True)
    )
    levels = tuple(f"{level:g}" for level in LEVELS)
    starts = range(0, len(arms), len(LEVELS))
    curves = tuple(tuple(range(start, start + len(LEVELS))) for start in starts)
    recipe = {"temperature": list(LEVELS), "sweep": "temperature=0,0.2,0.4,0.6,0.8"}
    told = {"recipe": recipe, "conversations": TASKS, "caution": CAUTION, **choices}
    return small_talks.plan(store, arms=arms, schedule=Sweep(levels, curves, SIZE), **told)


def breaking(at: int) -> list[Scripted]:
    """A model that gets everything right below a level, and nothing from there on."""
    return [model(N, range(N) if level >= at else ()) for level in range(len(LEVELS))]


def order(events: list[Event]) -> list[int]:
    """The levels in the order in which they were first played."""
    return list(dict.fromkeys(event.where.arm for event in events if isinstance(event, ConversationFinished)))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.mark.parametrize(
    ("at", "levels"),
    [(1, [0, 4, 2, 1]), (2, [0, 4, 2, 1]), (3, [0, 4, 2, 3]), (4, [0, 4, 2, 3]), (9, [0, 4])],
)
def test_ends_come_first_and_then_the_middle_of_what_is_left(store: Path, at: int, levels: list[int]) -> None:
    events = small_talks.play(plan(store, *breaking(at)))
    assert order(events) == levels
    with Runs.open(store) as runs:
        [curve] = compare(runs, ["latest"], QUESTION).curves
    names = ["0", "0.2", "0.4", "0.6", "0.8"]
    if at < 9:
        assert (curve.located.low, curve.located.high) == (at - 1, at)
        assert f"loses at least 20 points between {names[at - 1]} and {names[at]}" in curve.text
    else:
        assert curve.text == "holds to 0.8; 0.2, 0.4, 0.6 not played"
    assert curve.rates[0] == 1.0


def test_levels_take_turns_in_blocks_so_that_they_stay_paired(store: Path) -> None:
    events = small_talks.play(plan(store, *breaking(3)))
    played = [event.where for event in events if isinstance(event, ConversationFinished)]
    names = [task.name for task in TASKS]
    for level in range(len(LEVELS)):
        mine = [where.conversation for where in played if where.arm == level]
        assert mine == names[: len(mine)]
    ends = [where.arm for where in played[: played.index(next(w for w in played if w.arm == 2))]]
    blocks = [len(list(of_level)) for _, of_level in groupby(ends)]
    assert max(blocks) <= 2
    stored = small_talks.stored(store)
    assert sum(int(arm.counts.get("tasks", 0)) for arm in stored.arms) < N * len(LEVELS)
    assert stored.state == "finished"
    assert stored.arms[1].decided == "not played: the sweep did not need it"
    assert stored.declaration.caution == CAUTION.text


@pytest.mark.slow
def test_a_run_that_goes_on_ends_as_one_that_was_never_stopped(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.sqlite", tmp_path / "parts.sqlite"
    small_talks.play(plan(whole, *breaking(3)))
    control = Control()
    events: list[Event] = []

    def stopping(event: Event) -> None:
        events.append(event)
        if sum(isinstance(one, ConversationFinished) for one in events) == 9:
            control.stop()

    assert not run(plan(parts, *breaking(3)), stopping, control)
    small_talks.play(plan(parts, *breaking(3), resume=True))
    assert small_talks.answers(whole) == small_talks.answers(parts)


def test_displays_have_the_picture_and_the_sentence(store: Path) -> None:
    live = RunState()
    events = small_talks.play(plan(store, *breaking(3)))
    for event in events:
        live.apply(event)
    picture = sparkline([1, None, 1, 0, 0])
    assert live.arms[0].evidence == f"{picture}  loses at least 20 points between 0.4 and 0.6"
    told = [event for event in events if isinstance(event, EvidenceMoved) and event.found]
    assert [event.arm for event in told] == [0]
    unplayed = sum(N - int(arm.counts.get("tasks", 0)) for arm in small_talks.stored(store).arms)
    assert told[0].conversations_left == unplayed
    with Runs.open(store) as runs:
        assert f"curve     {picture}  m over temperature" in Card.of(runs, "latest").text(100)


def test_the_page_of_a_curve_is_as_it_is_to_be(store: Path) -> None:
    small_talks.play(plan(store, *breaking(3)))
    with Runs.open(store) as runs:
        curves = compare(runs, ["latest"], QUESTION).curves
    expected = (Path(__file__).parent / "curve.txt").read_text(encoding="utf-8")
    assert curves_text(curves) == expected.rstrip().replace("█ █▁▁", sparkline(curves[0].rates))


@pytest.mark.slow
def test_a_curve_for_each_file_shares_the_chance_of_a_false_finding(store: Path) -> None:
    names = (*NAMES, *(name.replace("m ", "n ") for name in NAMES))
    small_talks.play(plan(store, *breaking(3), *breaking(1), names=names))
    with Runs.open(store) as runs:
        curves = compare(runs, ["latest"], QUESTION).curves
    assert [(curve.name, curve.located.high) for curve in curves] == [("m", 3), ("n", 1)]
    needed = {level.loss.needed for curve in curves for level in curve.levels if level.loss}
    assert needed == {2 * 10 / 0.05}


@given(st.integers(2, 12), st.data())
def test_bisection_locates_every_break_and_plays_no_level_twice(levels: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, levels))
    played: list[int] = []
    located = Break()
    for _ in range(2 * levels):
        now = Bisection(levels, played.__contains__).playing(located, played)
        if not now:
            break
        assert now[0] == 0
        new = [level for level in now[1:] if level not in played]
        assert len(new) == 1
        played += new
        findings = {(0, level): "shown" if level >= at else "excluded" for level in played}
        located = Break.of(findings, levels)  # type: ignore[arg-type]
    assert played[0] == levels - 1
    assert located == (Break(levels - 1) if at == levels else Break(at - 1 or None, at - 1, at))
    assert len(played) <= 2 + (levels - 1).bit_length()


@given(st.integers(2, 9), st.data())
def test_where_nothing_can_be_decided_every_level_is_played(levels: int, data: st.DataObject) -> None:
    played: list[int] = []
    while now := Bisection(levels, played.__contains__).playing(Break(), played):
        played += [level for level in now[1:] if level not in played]
    assert sorted(played) == list(range(1, levels))


def test_a_sweep_says_what_it_cannot_play() -> None:
    option, levels = swept("temperature=1,0,0.5")
    assert (option.name, levels) == ("temperature", (0.0, 0.5, 1.0))
    for text in (
        "temperature=0",
        "docs=full,names",
        "seed=0,1",
        "temperature=-1,0",
        "temperature=x,1",
        "nothing=0,1",
        "temperature",
    ):
        with pytest.raises(RigError, match="--sweep"):
            swept(text)


def test_curves_are_told_apart_by_all_but_the_level() -> None:
    names = ["a temperature=0 docs=full", "a temperature=1 docs=full", "a temperature=0 docs=names"]
    assert curves_of(names, "temperature", [0.0, 1.0]) == {
        "a docs=full": {0: names[0], 1: names[1]},
        "a docs=names": {0: names[2]},
    }


@pytest.mark.slow
def test_wordings_have_a_spread_with_an_interval_that_holds_for_all_pairs(store: Path) -> None:
    words = ("plain", "polite", "bullets", "numbered", "headed", "tags", "reversed", "capitals")
    models = [model(N, range(8) if word == "capitals" else ()) for word in words]
    names = [f"m wording={word}" for word in words]
    graded_talks.play(store, *models, number=N, names=names, recipe={"wording": list(words)})
    with Runs.open(store) as runs:
        comparison = compare(runs, ["latest"])
    [spread] = comparison.trends["spreads"]
    assert (spread.variants, spread.finished, spread.worst, spread.value) == (8, N, "capitals", 0.25)
    assert 0.0 <= spread.low < 0.25 < spread.high < 1.0
    assert comparison.notes[0] == spread.text
    assert spread.text.startswith("m: success spreads over 25.0 points (0.0 to ")
    assert spread.text.endswith("8 wordings of the prompt, from capitals to plain, in 32 conversations")
    assert not comparison.curves


def test_repeats_that_are_missing_leave_no_conversation_out(store: Path) -> None:
    few = 16
    names = [f"m {word}" for word in ("temperature=0 wording=plain", "temperature=1 wording=plain")]
    names += [name.replace("plain", "tags") for name in names]
    models = [model(few), *(model(few, range(few)) for _ in range(3))]
    recipe = {"temperature": [0, 1], "wording": ["plain", "tags"]}
    graded_talks.play(store, *models, number=few, names=names, recipe=recipe, repeats=2)
    for arm in (1, 2):
        graded_talks.forget(store, arm, range(few // 2, few), repeats=(1,))
    with Runs.open(store) as runs:
        comparison = compare(runs, ["latest"], ComparisonOptions(across_settings=True, resamples=100))
    first, _ = comparison.curves
    assert first.text == "loses at least 5 points between 0 and 1"
    assert [level.loss and level.loss.after for level in first.levels] == [None, few]
    assert [spread.value > spread.low > 0.3 for spread in comparison.trends["spreads"]] == [True, False]


def test_an_interval_of_a_level_is_beside_the_lowest_where_both_played(store: Path) -> None:
    names = ("m temperature=0", "m temperature=1")
    models = (model(16, range(8, 16)), model(16))
    graded_talks.play(store, *models, number=16, names=names, recipe={"temperature": [0, 1]})
    graded_talks.forget(store, 1, range(8, 16))
    with Runs.open(store) as runs:
        [curve] = compare(runs, ["latest"], ComparisonOptions(across_settings=True)).curves
    point = curve.points[1]
    assert point["low"] < point["success"] == point["high"] == 1.0
