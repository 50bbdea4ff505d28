"""Playing: its pace, its controls, and following a run that another process or thread writes."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs
from patience import PATIENCE_S

from rig.core.errors import RigError
from rig.core.events import (
    ArmFinished,
    ConversationFinished,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    RunFinished,
    RunStarted,
    TurnFinished,
    TurnStarted,
    Where,
)
from rig.core.models import Prediction, Request, Usage
from rig.methods.scripted import Scripted, replied
from rig.plugins.replay.follower import Follower, TurnEntry
from rig.plugins.replay.player import SPEEDS, Player
from rig.running.control import Control
from rig.store import Runs, StoredRun, delete_run


class Playing:
    """A player in a thread, and what it told."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.events: list[Event] = []
        self.result: StoredRun | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _play(self) -> None:
        self.result = self.player.play(self._take)
        with self._changed:
            self._changed.notify_all()

    def _take(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def until(self, condition: Callable[[list[Event]], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.events), PATIENCE_S), self.events[-3:]

    def end(self) -> StoredRun:
        self._thread.join(PATIENCE_S)
        assert self.result is not None
        return self.result

    def turns(self) -> list[tuple[str, int]]:
        return [(one.where.conversation, one.turn) for one in self.events if isinstance(one, TurnFinished)]


@pytest.fixture
def play() -> Iterator[Callable[[Player], Playing]]:
    playing: list[Playing] = []

    def start(player: Player) -> Playing:
        playing.append(Playing(player))
        return playing[-1]

    yield start
    for each in playing:
        each.player.stop()
        each.end()


def patient(request: Request) -> Prediction:
    """A model that says that it took a minute for each step."""
    usage = Usage(prompt_tokens=9, completion_tokens=6, prefill_s=30.0, decode_s=30.0)
    return Prediction(raw="Good day.", reply="Good day.", usage=usage)


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A finished run of eight turns of a minute each."""
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(patient)))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE turns SET wall_s = 60")
    return path


def count(kind: type) -> Callable[[list[Event]], int]:
    return lambda events: sum(isinstance(event, kind) for event in events)


def test_time_passes_as_it_did_and_speed_shortens_it(slow: Path, play: Callable[[Player], Playing]) -> None:
    playing = play(Player(slow, "abcde", speed=600.0))
    began = time.monotonic()
    playing.end()
    assert time.monotonic() - began >= 0.9 * 8 * 60 / 600
    assert sum(isinstance(event, PieceGenerated) and event.text != "" for event in playing.events) == 8 * 6


def test_a_speed_chosen_while_waiting_counts_at_once(slow: Path, play: Callable[[Player], Playing]) -> None:
    playing = play(Player(slow, "abcde", speed=0.25))
    playing.until(count(PieceGenerated))
    assert not count(TurnFinished)(playing.events)
    for _ in SPEEDS:
        playing.player.faster()
    assert math.isinf(playing.player.speed)
    assert playing.end().state == "finished"
    assert count(PieceGenerated)(playing.events) == 1
    assert len(playing.turns()) == 8


def test_speeds_go_up_and_down_within_their_bounds(slow: Path) -> None:
    player = Player(slow, "abcde", speed=3.0)
    player.faster()
    assert player.speed == 4.0
    player.slower()
    player.slower()
    assert player.speed == 1.0
    for _ in range(9):
        player.slower()
    assert player.speed == SPEEDS[0]
    player.set_speed(0.1)
    player.slower()
    assert player.speed == 0.1


def test_a_step_shows_one_turn_whole_and_waits(slow: Path, play: Callable[[Player], Playing]) -> None:
    playing = play(Player(slow, "abcde"))
    playing.until(count(TurnStarted))
    for turns in (1, 2, 3):
        playing.player.step()
        playing.until(lambda events, turns=turns: count(TurnFinished)(events) == turns)  # type: ignore[misc]
    assert playing.player.is_paused
    assert count(TurnFinished)(playing.events) == 3


def test_pausing_holds_until_resumed(slow: Path, play: Callable[[Player], Playing]) -> None:
    player = Player(slow, "abcde", speed=math.inf)
    player.pause()
    playing = play(player)
    playing.until(count(TurnStarted))
    assert count(TurnFinished)(playing.events) == 0
    player.resume()
    playing.end()
    assert len(playing.turns()) == 8


def test_it_starts_where_it_is_told_to(slow: Path, play: Callable[[Player], Playing]) -> None:
    player = Player(slow, "abcde")
    player.start_at(player.find("login"))
    playing = play(player)
    playing.until(count(PieceGenerated))
    assert ConversationStarted(Where(0, "login")) in playing.events
    pieces = [event for event in playing.events if isinstance(event, PieceGenerated)]
    assert {piece.where for piece in pieces} == {Where(0, "login")}
    assert {name for name, _ in playing.turns()} == {"alarms", "reminders"}
    assert playing.player.remaining_s == pytest.approx(2 * 60, rel=0.1)


def test_it_goes_back_by_telling_the_run_again(slow: Path, play: Callable[[Player], Playing]) -> None:
    playing = play(Player(slow, "abcde", speed=math.inf, stay=True))
    playing.until(count(RunFinished))
    playing.player.set_speed(1.0)
    playing.player.seek(playing.player.find("reminders"))
    playing.until(lambda events: count(RunStarted)(events) == 2 and isinstance(events[-1], PieceGenerated))
    again = playing.events[[type(event) for event in playing.events].index(RunFinished) + 1 :]
    assert isinstance(again[0], RunStarted)
    assert ConversationFinished in {type(event) for event in again}
    assert again[-1].where == Where(0, "reminders")  # type: ignore[union-attr]
    playing.player.seek(None)
    playing.until(lambda events: count(RunStarted)(events) == 3 and isinstance(events[-1], PieceGenerated))
    assert playing.events[-1].where == Where(0, "alarms")  # type: ignore[union-attr]


def test_there_has_to_be_something_to_play(slow: Path) -> None:
    with pytest.raises(RigError, match="no run 'xyz'"):
        Player(slow, "xyz")
    player = Player(slow, "abcde")
    for where in (("gone",), ("alarms", 1), ("alarms", 0, 1), ("alarms", -1)):
        with pytest.raises(RigError, match="has no conversation"):
            player.find(*where)  # type: ignore[arg-type]


class Writing:
    """A run that is being written by a thread of this process, step by step as it is allowed to."""

    def __init__(self, path: Path, resume: bool = False) -> None:
        self.control = Control()
        self._go = threading.Semaphore(0)
        todo = small_talks.plan(path, Scripted(self._answer), resume=resume)
        self._thread = threading.Thread(target=small_talks.play, args=(todo, self.control), daemon=True)
        self._thread.start()

    def _answer(self, request: Request) -> Prediction:
        assert self._go.acquire(timeout=PATIENCE_S)
        self.control.check()
        return replied("Good day.")

    def let(self, turns: int) -> None:
        self._go.release(turns)

    def stop(self) -> None:
        self.control.stop()
        self.let(1)
        self.end()

    def end(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def stored_turns(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return int(database.execute("select count(*) from turns").fetchone()[0])
    except sqlite3.OperationalError:
        return -1


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_a_run_in_progress_is_followed_to_its_end(tmp_path: Path, play: Callable[[Player], Playing]) -> None:
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(4)
    wait_for(lambda: stored_turns(path) == 4)
    both = [play(Player(path, "abcde", speed=speed)) for speed in (1.0, math.inf)]
    for playing in both:
        playing.until(lambda events: count(TurnFinished)(events) == 1)
        wait_for(lambda playing=playing: playing.player.is_live)  # type: ignore[misc]
        assert isinstance(playing.events[0], RunStarted)
        assert playing.events[0].finished_turns == 3
        assert [cell.conversation for cell in playing.player.earlier] == ["alarms"]
        assert playing.turns() == [("reminders", 1)]
    writing.let(1)
    for playing in both:
        playing.until(lambda events: count(TurnFinished)(events) == 2)
    writing.let(3)
    writing.end()
    for playing in both:
        stored = playing.end()
        assert stored.state == "finished"
        assert stored.turns_done == 8
        assert [name for name, _ in playing.turns()] == ["reminders"] * 3 + ["login"] * 2
        assert playing.events[-1] == RunFinished("abcde")
        assert not count(Notice)(playing.events)


def test_turns_that_are_stored_while_it_attaches_are_told_once(
    tmp_path: Path, play: Callable[[Player], Playing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation ends between the look at the turns and the look at what is finished."""
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(4)
    wait_for(lambda: stored_turns(path) == 4)
    looks = []
    entries = Follower.entries

    def slow_entries(follower: Follower, after: int = 0) -> list[TurnEntry]:
        found = entries(follower, after)
        if not looks:
            writing.let(2)
            wait_for(lambda: stored_turns(path) == 6)
        looks.append(after)
        return found

    monkeypatch.setattr(Follower, "entries", slow_entries)
    playing = play(Player(path, "abcde", speed=math.inf))
    wait_for(lambda: playing.player.is_live)
    writing.let(2)
    writing.end()
    assert playing.end().turns_done == 8
    assert isinstance(playing.events[0], RunStarted)
    assert playing.events[0].finished_turns == 3
    assert playing.turns() == [
        ("reminders", 1),
        ("reminders", 3),
        ("reminders", 5),
        ("login", 2),
        ("login", 4),
    ]
    last = [event for event in playing.events if isinstance(event, TurnFinished)][-1]
    assert last.speed.steps == 8


def test_a_conversation_that_ends_while_a_turn_of_it_is_read_ends_once(
    tmp_path: Path, play: Callable[[Player], Playing], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(2)
    wait_for(lambda: stored_turns(path) == 2)
    is_last = Follower.is_last

    def slow_is_last(follower: Follower, entry: TurnEntry) -> bool:
        found = is_last(follower, entry)
        if entry.turn == 3 and stored_turns(path) == 2:
            writing.let(1)
            wait_for(lambda: stored_turns(path) == 3)
        return found

    monkeypatch.setattr(Follower, "is_last", slow_is_last)
    playing = play(Player(path, "abcde", speed=math.inf))
    playing.until(lambda events: count(TurnFinished)(events) == 3)
    writing.let(5)
    writing.end()
    playing.end()
    assert count(ConversationFinished)(playing.events) == 3


@pytest.mark.parametrize("is_running", [False, True])
def test_the_work_grows_with_the_turns_and_not_with_their_square(
    tmp_path: Path, is_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in calls of the player's own functions, and in how often it looks at a turn."""
    if is_running:
        monkeypatch.setattr(Player, "_next", lambda player, follower, last: [])
    made: list[str] = []

    def shallow(entry: TurnEntry) -> dict[str, Any]:
        return {each.name: getattr(entry, each.name) for each in fields(entry)}

    class Watched(TurnEntry):
        def __getattribute__(self, name: str) -> Any:
            made.append(name)
            return super().__getattribute__(name)

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def calling(*given: Any, **named: Any) -> Any:
            made.append(name)
            return function(*given, **named)

        return calling

    for name, function in vars(Player).copy().items():
        if isfunction(function):
            monkeypatch.setattr(Player, name, counted(name, function))
    entries = Follower.entries
    monkeypatch.setattr(
        Follower, "entries", lambda *given: [Watched(**shallow(each)) for each in entries(*given)]
    )
    calls = []
    for repeats in (8, 32):
        path = tmp_path / f"{repeats}.sqlite"
        small_talks.play(small_talks.plan(path, small_talks.oracle(), repeats=repeats))
        made.clear()
        Player(path, "abcde", speed=math.inf, at_end=is_running).play(lambda event: None)
        calls.append(len(made))
    assert calls[0] > 8 * 8
    assert calls[1] < 4.5 * calls[0]


def test_what_is_left_of_a_replay_is_told_turn_by_turn(slow: Path) -> None:
    left = []
    player = Player(slow, "abcde", speed=math.inf)
    player.play(lambda event: left.append(player._ahead_s) if isinstance(event, TurnFinished) else None)
    assert left == [60.0 * number for number in range(8, 0, -1)]


def test_its_numbers_are_those_of_the_store_from_the_first_on(
    tmp_path: Path, play: Callable[[Player], Playing]
) -> None:
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(4)
    wait_for(lambda: stored_turns(path) == 4)
    playing = play(Player(path, "abcde"))
    playing.until(count(TurnFinished))
    with Runs.open(path) as runs:
        arm = runs.get("abcde").arms[0]
    [told] = [event for event in playing.events if isinstance(event, TurnFinished)]
    assert (told.counts, told.speed.steps) == (arm.counts, arm.speed.steps) == (arm.counts, 4)
    writing.let(4)
    writing.end()
    playing.end()
    with Runs.open(path) as runs:
        arm = runs.get("abcde").arms[0]
    last = [event for event in playing.events if isinstance(event, ConversationFinished)][-1]
    assert (last.arm_counts, last.speed.steps) == (arm.counts, 8)


@pytest.mark.slow
def test_a_run_that_is_stopped_is_said_to_be_and_followed_again_once_resumed(
    tmp_path: Path, play: Callable[[Player], Playing]
) -> None:
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(4)
    wait_for(lambda: stored_turns(path) == 4)
    playing = play(Player(path, "abcde", stay=True))
    playing.until(count(TurnFinished))
    writing.stop()
    playing.until(count(RunFinished))
    [notice] = [event.text for event in playing.events if isinstance(event, Notice)]
    assert notice == "run abcde was stopped; 4 turns are left, rig run --resume abcde"
    assert playing.events[-1] == RunFinished("abcde", interrupted=True)
    again = Writing(path, resume=True)
    playing.until(lambda events: count(RunStarted)(events) == 2)
    again.let(4)
    again.end()
    playing.until(lambda events: events[-1] == RunFinished("abcde"))
    assert playing.turns()[-1] == ("login", 4)


KILLED = """
import sys, time
from pathlib import Path
from typing import Any
import small_talks
import stored_runs
from rig.methods.scripted import Scripted, replied

def answer(request):
    if request.key.conversation == "reminders" and request.key.turn > 1:
        time.sleep(600)
    return replied("Good day.")

small_talks.play(small_talks.plan(Path(sys.argv[1]), Scripted(answer)))
"""


@pytest.mark.slow
def test_a_run_whose_process_is_killed_is_said_to_have_broken_off(
    tmp_path: Path, play: Callable[[Player], Playing]
) -> None:
    path = tmp_path / "runs.sqlite"
    tests = str(Path(small_talks.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], env=environment)
    try:
        wait_for(lambda: stored_turns(path) == 4)
        playing = play(Player(path, "abcde"))
        playing.until(count(TurnFinished))
        log = path.with_name("runs.sqlite-wal")
        before = (path.read_bytes(), log.read_bytes())
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert playing.end().state == "interrupted"
    [notice] = [event.text for event in playing.events if isinstance(event, Notice)]
    assert "broke off: the process that wrote it is gone; 4 turns are left" in notice
    assert (path.read_bytes(), log.read_bytes()) == before


@pytest.mark.slow
def test_watching_leaves_the_store_as_it_is(tmp_path: Path, play: Callable[[Player], Playing]) -> None:
    path = tmp_path / "runs.sqlite"
    writing = Writing(path)
    writing.let(4)
    wait_for(lambda: stored_turns(path) == 4)
    playing = play(Player(path, "abcde"))
    playing.until(count(TurnFinished))
    wait_for(lambda: playing.player.is_live)
    # A writer in the middle of a transaction, for longer than the watcher's next looks.
    with closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.7)
        other.execute("UPDATE runs SET name = 'named'")
        other.execute("COMMIT")
        # Nothing is held back: the log can be emptied at once although somebody watches.
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
    writing.stop()
    assert playing.end().name == "named"
    # The writer is gone, and the file is whole without its log although somebody watched.
    alone = tmp_path / "copy.sqlite"
    alone.write_bytes(path.read_bytes())
    assert stored_turns(alone) == 4


def test_a_run_that_is_deleted_while_it_is_watched_is_one_line(slow: Path) -> None:
    player = Player(slow, "abcde", speed=0.25)
    delete_run(slow, "abcde")
    with pytest.raises(RigError, match="no run 'abcde'"):
        player.play(lambda event: None)


def test_each_arm_ends_with_what_was_measured_of_it_as_a_whole(tmp_path: Path) -> None:
    store = stored_runs.write(tmp_path / "runs.sqlite")
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE arms SET peak_memory = 7, store_s = 3")
    events: list[Event] = []
    run = Player(store, "abcde", speed=math.inf).play(events.append)
    assert {event.arm: event.speed for event in events if isinstance(event, ArmFinished)} == {
        arm.position: arm.speed for arm in run.arms
    }
    assert [arm.speed.peak_memory for arm in run.arms] == [7, 7]
