"""Runs until a verdict: who plays what, when an arm is dropped, and what is kept of that."""

import io
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import graded_talks
import numpy as np
import pytest
import small_talks
from graded_talks import model
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.events import (
    ArmFinished,
    ArmReady,
    ArmStarted,
    ConversationFinished,
    Emit,
    Event,
    EvidenceMoved,
    Notice,
    RunFinished,
    Where,
)
from rig.core.metrics import UNPLAYED
from rig.core.models import Model, Notify
from rig.core.tasks import in_random_order
from rig.methods.scripted import Scripted
from rig.plugins.lines.displays import PlainDisplay
from rig.plugins.lines.pace import TimedProgress
from rig.plugins.strategies.looks import SequentialComparison, compare_sequentially
from rig.plugins.strategies.sequential import LossTest
from rig.plugins.strategies.until import CAUTION, Deciding, UntilVerdict
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run
from rig.show.summary import summary
from rig.store import Cell, Runs
from tui.live.state import RunState

N = 24
SIZE = 0.2
IN_SUITE = UntilVerdict(SIZE, in_suite=True)
TASKS = tuple(in_random_order(graded_talks.conversations(N), 0))
ORDER = [int(task.name.removeprefix("talk")) for task in TASKS]
LATE = frozenset(ORDER[:14])
"""Wrong in the conversations that come first: decided on soon."""


class Closing(Scripted):
    """A graded model that notes in `loaded` when it is loaded, and knows whether it is open."""

    def __init__(self, number: int, loaded: list[int], wrong: Collection[int] = ()) -> None:
        graded = model(N, wrong)
        super().__init__(lambda request: graded.predict(request, lambda _: None))
        self.number, self.loaded, self.is_open = number, loaded, False

    def load(self, _: Notify) -> "Closing":
        assert not self.is_open
        self.loaded.append(self.number)
        self.is_open = True
        return self

    def close(self) -> None:
        self.is_open = False


def plan(store: Path, *models: Scripted | Callable[[Notify], Model], **choices: Any) -> Plan:
    choices = {"conversations": TASKS, "caution": CAUTION, "recipe": {"until": "verdict"}, **choices}
    schedule = UntilVerdict(SIZE, choices.pop("in_suite", True))
    return small_talks.plan(store, *models, schedule=schedule, **choices)


def of_type(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def looked(store: Path, size: float = SIZE) -> SequentialComparison:
    with Runs.open(store) as runs:
        return compare_sequentially(runs, ["latest"], size, in_suite=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def test_an_arm_is_dropped_as_soon_as_its_loss_is_shown_and_the_others_go_on(store: Path) -> None:
    events = small_talks.play(plan(store, model(N), model(N, LATE), model(N)))
    stored = small_talks.stored(store)
    played = [int(arm.counts["tasks"]) for arm in stored.arms]
    test = LossTest(SIZE, N, arms=2, step=1.0)
    lost, alike = (test.evidence([float(x) for x in found]) for found in ([-1] * 14 + [0] * 10, [0] * N))
    assert [lost.found, alike.found] == ["shown", "excluded"]
    assert played[1:] == [lost.decided, alike.decided]
    assert played[1] < 10
    assert played[2] <= played[0] <= played[2] + 2
    assert [arm.decided for arm in stored.arms] == [
        None,
        "loss of 20 points in this suite shown,"
        f" e = {int(test.evidence([-1.0] * (lost.decided or 0)).shown)}, after {lost.decided} of {N}",
        of_type(events, EvidenceMoved)[-1].text,
    ]
    assert stored.state == "finished"
    assert of_type(events, RunFinished)[0].interrupted is False
    assert {event.arm: event.decided for event in of_type(events, ArmFinished)} == {
        position: arm.decided for position, arm in enumerate(stored.arms)
    }


@pytest.mark.parametrize("has_room", [True, False])
def test_models_that_come_again_stay_loaded_if_there_is_room(
    store: Path, has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.config.schemes.ArmWeights.has_room", lambda _weights: has_room)
    loaded: list[int] = []
    models = [Closing(i, loaded) for i in range(3)]
    events = small_talks.play(plan(store, *[each.load for each in models]))
    visits = [event.arm for event in of_type(events, ArmStarted)]
    assert len(visits) > 6
    assert loaded == ([0, 1, 2] if has_room else visits)
    assert [each.is_open for each in models] == [False] * 3
    looks = [arm.counts for arm in small_talks.stored(store).arms]
    assert looks[1] == looks[2]


def test_a_model_that_is_decided_on_makes_room(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.config.schemes.ArmWeights.has_room", lambda _weights: True)
    loaded: list[int] = []
    models = [Closing(0, loaded), Closing(1, loaded, LATE), Closing(2, loaded)]
    open_then: list[list[bool]] = []

    def seen(event: Event) -> None:
        if isinstance(event, ArmReady):
            open_then.append([each.is_open for each in models])

    run(plan(store, *[each.load for each in models]), seen, Control())
    assert [True, True, True] in open_then
    assert open_then[-1] == [True, False, True]


def test_the_evidence_is_told_after_every_conversation_of_an_arm(store: Path) -> None:
    events = small_talks.play(plan(store, model(N), model(N, {ORDER[0]})))
    moved = of_type(events, EvidenceMoved)
    assert [event.evidence["after"] for event in moved] == list(range(1, len(moved) + 1))
    assert [event.found for event in moved] == [False] * (len(moved) - 1) + [True]
    assert moved[0].evidence["shown"] > 1
    progress = TimedProgress()
    for event in events:
        progress.tell(event)
    assert moved[-1].conversations_left == N - len(moved)
    assert moved[-1].turns_left == 2 * (N - len(moved))


def test_the_displays_show_the_evidence_as_it_moves(store: Path) -> None:
    stream = io.StringIO()
    live = RunState()
    todo = plan(store, model(N), model(N, LATE))

    def job(emit: Emit) -> bool:
        def both(event: Event) -> None:
            emit(event)
            live.apply(event)

        return run(todo, both, Control())

    assert PlainDisplay(stream).run(job, Control())
    [decided] = [arm.decided for arm in small_talks.stored(store).arms if arm.decided]
    lines = [line for line in stream.getvalue().splitlines() if line.startswith("arm1: loss of 20 points in")]
    assert lines[0] == "arm1: " + LossTest(SIZE, N, step=1.0).evidence([-1.0]).text
    assert lines[-1] == f"arm1: {decided}"
    assert live.arms[1].evidence == decided
    assert f"arm1: {decided}" in summary(small_talks.stored(store))


def test_rates_of_what_stopped_early_are_said_to_be_biased(store: Path) -> None:
    events = small_talks.play(plan(store, model(N), model(N, LATE)))
    assert Notice(CAUTION.text) in events
    declaration = small_talks.stored(store).declaration
    assert (declaration.caution, declaration.decides) == (CAUTION.text, True)


def test_where_all_was_played_after_all_nothing_needs_to_be_said(store: Path) -> None:
    """The last conversation alone decides: 5 of 24 are 20 points, and 4 are not."""
    wrong = {*ORDER[:2], *ORDER[10:12], ORDER[-1]}
    small_talks.play(plan(store, model(N), model(N, wrong)))
    stored = small_talks.stored(store)
    assert [arm.counts["tasks"] for arm in stored.arms] == [N, N]
    assert (stored.declaration.caution, stored.declaration.decides) == ("", True)
    assert str(stored.arms[1].decided).startswith(
        "loss of 20 points in this suite shown, e > 1,000,000, after 24"
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", [frozenset(), frozenset(ORDER[1::3])])
@pytest.mark.parametrize("turns", [1, 7, 20, 33, 50])
def test_stopped_at_any_moment_a_run_goes_on_to_the_same_end(
    tmp_path: Path, turns: int, first: frozenset[int]
) -> None:
    whole, parts = tmp_path / "whole.sqlite", tmp_path / "parts.sqlite"
    models = model(N, first), model(N, LATE), model(N, {ORDER[3]})
    small_talks.play(plan(whole, *models))
    control = Control()
    done = 0

    def emit(event: Event) -> None:
        nonlocal done
        done += type(event).__name__ == "TurnFinished"
        if done == turns:
            control.stop()

    todo = plan(parts, *models)
    assert run(todo, emit, control) is False
    again = small_talks.play(replace(todo, resume=True))
    ends = [small_talks.stored(path) for path in (whole, parts)]
    assert [arm.decided for arm in ends[0].arms] == [arm.decided for arm in ends[1].arms]
    assert ends[1].state == "finished"
    cells = []
    for path, stored in zip((whole, parts), ends, strict=True):
        with Runs.open(path) as runs:
            cells.append([(cell.arm, cell.conversation, cell.state) for cell in runs.cells(stored)])
    assert cells[0] == cells[1]
    last = {event.arm: event.decided for event in of_type(again, ArmFinished)}
    assert last == {position: arm.decided for position, arm in enumerate(ends[1].arms)}


def test_a_failed_arm_is_given_up_and_the_others_are_decided(store: Path) -> None:
    arms = small_talks.plan(store, model(N), small_talks.unloadable, model(N)).arms
    assert run(plan(store, model(N), arms=arms), lambda _: None, Control()) is False
    stored = small_talks.stored(store)
    assert [bool(arm.failure) for arm in stored.arms] == [False, True, False]
    assert [bool(arm.decided) for arm in stored.arms] == [False, False, True]


def test_without_the_first_arm_nothing_can_be_decided(store: Path) -> None:
    arms = small_talks.plan(store, small_talks.unloadable, model(N)).arms
    with pytest.raises(RigError, match="no such weights"):
        run(plan(store, model(N), arms=arms), lambda _: None, Control())


def test_one_arm_alone_is_refused(store: Path) -> None:
    with pytest.raises(RigError, match="give a second model or setting"):
        plan(store, model(N)).check()


def test_what_was_looked_at_during_the_run_is_what_a_comparison_finds(store: Path) -> None:
    small_talks.play(plan(store, model(N), model(N, LATE), model(N)))
    stored = small_talks.stored(store)
    found = looked(store)
    assert [each.judged.text for each in found.arms] == [arm.decided for arm in stored.arms[1:]]
    assert [each.judged.of for each in found.arms] == [N, N]
    assert all(each.alike.low <= each.judged.low for each in found.arms)


def test_a_whole_run_in_the_order_of_the_suite_is_known_exactly(store: Path) -> None:
    graded_talks.play(store, model(N), model(N, {0, 1, 2}), number=N)
    (arm,) = looked(store).arms
    assert arm.suite is not None
    assert (arm.suite.low, arm.suite.high) == pytest.approx((3 / N, 3 / N))
    assert arm.suite.found == "excluded"
    assert arm.alike.low < 3 / N < arm.alike.high


def test_half_a_run_in_the_order_of_the_suite_says_nothing_of_the_suite(store: Path) -> None:
    control = Control()

    def emit(event: Event) -> None:
        if isinstance(event, ConversationFinished) and event.where == Where(1, "talk09"):
            control.stop()

    arms = small_talks.plan(store, model(N), model(N)).arms
    todo = small_talks.plan(store, arms=arms, conversations=graded_talks.conversations(N))
    run(todo, emit, control)
    (arm,) = looked(store).arms
    assert arm.suite is None
    assert arm.judged.after == 10
    assert "10 conversations were finished in the suite's order" in arm.note


def test_another_metric_than_success_is_refused(store: Path) -> None:
    from rig.compare.arms import ComparisonOptions

    graded_talks.play(store, model(2), model(2), number=2)
    with Runs.open(store) as runs, pytest.raises(RigError, match="only tests success"):
        compare_sequentially(runs, ["latest"], 0.05, ComparisonOptions(metric="recall"))


outcomes = st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=4, max_size=4)


@pytest.mark.slow
@given(outcomes)
@settings(max_examples=12, deadline=None)
def test_the_order_of_the_arms_is_of_no_account(outcomes: list[list[bool]]) -> None:
    """After how many conversations an arm is decided, and how, depends on it and the first arm alone."""
    first, *others = outcomes
    found = []
    for order in permutations(range(3)):
        decided = _decide([first, *(others[place] for place in order)])
        found.append({place: decided[number] for number, place in enumerate(order)})
    assert all(each == found[0] for each in found)


def _decide(outcomes: list[list[bool]]) -> list[tuple[str | None, int]]:
    """What is found of each arm but the first, and how many conversations it took."""
    tasks = TASKS[:8]
    models = [model(8) for _ in outcomes]
    todo = replace(small_talks.plan(Path("none"), *models, conversations=tasks), schedule=IN_SUITE)
    deciding = Deciding(todo, SIZE, (), in_suite=True)
    played = [0] * len(outcomes)
    for arm, left in deciding.visits():
        for where, task in left:
            if deciding.is_over(arm):
                break
            won = outcomes[arm][tasks.index(task)]
            deciding.finished(where, {todo.declaration.success: float(won)})
            played[arm] += 1
    assert not deciding.undecided
    texts = [deciding.decided(arm) or "" for arm in range(1, len(outcomes))]
    assert played[0] <= max(int(text.split("after ")[1].split()[0]) for text in texts) + 1
    assert min(played) >= 1
    return [(deciding.decided(arm), played[arm]) for arm in range(1, len(outcomes))]


def test_conversations_that_the_first_got_wrong_are_not_played(store: Path) -> None:
    wrong = frozenset(ORDER[1::2])
    events = small_talks.play(plan(store, model(N, wrong), model(N, wrong), model(N)))
    stored = small_talks.stored(store)
    played = [int(arm.counts["tasks"]) for arm in stored.arms]
    excluded = LossTest(SIZE, N, arms=2, step=1.0).evidence([0.0] * N)
    assert excluded.found == "excluded"
    needed = ((excluded.decided or 0) + 1) // 2
    assert played[1:] == [needed, needed]
    assert [arm.decided for arm in stored.arms[1:]] == [f"{excluded.text} ({needed} played)"] * 2
    assert [each.judged.text for each in looked(store).arms] == [arm.decided for arm in stored.arms[1:]]
    last = of_type(events, EvidenceMoved)[-1]
    assert last.conversations_left == N - played[1]


def test_an_arm_that_loses_some_plays_what_it_may_have_won(store: Path) -> None:
    """It wins as many as it loses, so only they clear it."""
    wrong, other = frozenset(ORDER[1::2]), frozenset(ORDER[0::2])
    small_talks.play(plan(store, model(N, wrong), model(N, other)))
    (_, arm) = small_talks.stored(store).arms
    assert str(arm.decided).startswith("loss of 20 points in this suite excluded")
    assert arm.counts["tasks"] > N / 2
    assert [each.judged.text for each in looked(store).arms] == [arm.decided]


def test_with_repeats_only_what_the_first_always_got_wrong_is_not_played(store: Path) -> None:
    first = {(each, 0) for each in ORDER[::2]} | {(each, repeat) for each in ORDER[1::4] for repeat in (0, 1)}
    small_talks.play(plan(store, model(N, first), model(N), repeats=2))
    (_, arm) = small_talks.stored(store).arms
    with Runs.open(store) as runs:
        cells = runs.cells(small_talks.stored(store))
    finished = {cell.conversation for cell in cells if cell.arm == 1 and cell.state == "finished"}
    assert finished
    assert not finished & {f"talk{each:02}" for each in ORDER[1::4]}
    assert f"({len(finished)} played)" in str(arm.decided)
    assert [each.judged.text for each in looked(store).arms] == [arm.decided]


def test_of_a_first_arm_that_gets_nothing_right_the_others_still_play_a_conversation(store: Path) -> None:
    small_talks.play(plan(store, model(N, range(N)), model(N), model(N, LATE)))
    stored = small_talks.stored(store)
    assert [arm.counts["tasks"] for arm in stored.arms[1:]] == [1, 1]
    assert all(str(arm.decided).endswith("(1 played)") for arm in stored.arms[1:])
    assert [each.judged.text for each in looked(store).arms] == [arm.decided for arm in stored.arms[1:]]


@pytest.mark.slow
@given(outcomes)
@settings(max_examples=30, deadline=None)
def test_what_is_found_would_be_found_if_everything_were_played(outcomes: list[list[bool]]) -> None:
    """A finding can be false, in one order of twenty at most, but never for what was left out."""
    test = LossTest(SIZE, 8, arms=len(outcomes) - 1, step=1.0)
    for arm, (found, _) in enumerate(_decide(outcomes), start=1):
        differences = np.subtract(outcomes[arm], outcomes[0], dtype=np.float64)
        shown, excluded = (each.max() >= test.needed for each in test.e_processes(differences).values())
        assert shown if "shown" in str(found) else excluded


def test_conversations_that_end_out_of_order_wait_for_those_before(store: Path) -> None:
    todo = replace(small_talks.plan(store, model(8), model(8), conversations=TASKS[:8]), schedule=IN_SUITE)
    won = {todo.declaration.success: 1.0}
    cells = [Cell(0, task.name, 0, 2, 2, counts=won) for task in TASKS[:8]]
    deciding = Deciding(todo, SIZE, cells, in_suite=True)
    assert deciding.finished(Where(1, TASKS[1].name), won) == []
    (moved,) = deciding.finished(Where(1, TASKS[0].name), won)
    assert moved.evidence["after"] == 2


def test_while_it_plays_the_live_view_has_bounds_in_place_of_rates(store: Path) -> None:
    live, seen = RunState(), []
    todo = plan(store, model(N), model(N, LATE))

    def both(event: Event) -> None:
        live.apply(event)
        if isinstance(event, ConversationFinished):
            counts = live.arms[event.where.arm].rated or {}
            metric = todo.declaration.success_metric
            assert metric is not None
            seen.append((metric.rate(counts), metric.bounds(counts), counts["tasks"]))

    run(todo, both, Control())
    assert {rate for rate, *_ in seen} == {None}
    for _, bounds, played in seen:
        assert bounds is not None
        assert bounds[1] - bounds[0] == pytest.approx(1 - played / N)


def test_about_files_everything_is_played_where_that_does_not_decide(store: Path) -> None:
    """8 conversations cannot tell a loss of 20 points, so the run ends whole, with plain rates."""
    tasks = TASKS[:8]
    small_talks.play(plan(store, model(N), model(N, {ORDER[1]}), in_suite=False, conversations=tasks))
    stored = small_talks.stored(store)
    assert [arm.counts["tasks"] for arm in stored.arms] == [8, 8]
    assert [UNPLAYED in arm.counts for arm in stored.arms] == [False, False]
    assert (stored.arms[1].decided, stored.declaration.caution) == (None, "")


def test_about_files_an_arm_is_dropped_as_soon_as_its_loss_is_shown(store: Path) -> None:
    small_talks.play(plan(store, model(N), model(N, range(N)), in_suite=False))
    decided = str(small_talks.stored(store).arms[1].decided)
    expected = LossTest(SIZE, None, step=1.0).evidence([-1.0] * N)
    assert expected.decided is not None
    assert decided.startswith("loss of 20 points shown")
    assert f"after {expected.decided}" in decided
