"""The screen of a run as it happens: conversations, a transcript, its ground truth, and the numbers.

Another one shows a run that is replayed, or is in progress elsewhere, with the controls of a replay.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from rig.core.events import ArmFinished, Notice, Where
from rig.core.metrics import UNPLAYED
from rig.plugins.groups.groups import Groups
from rig.show import signs
from rig.show.card import Card
from rig.show.table import short_names
from rig.stats import Estimate, estimates
from rig.stats.repeats import RepeatOutcomes
from rig.store import Runs
from tui.live.live_run import LiveRun, Pace, Replay, speed_text
from tui.live.state import SIGNS, ConversationState
from tui.screens import keys
from tui.screens.base import QuitScreen, RunsOpened
from tui.screens.conversation import ConversationScreen
from tui.screens.pages import QUIT, CardScreen, HeatScreen, TextScreen, heat_maps
from tui.screens.reading import ReadingScreen
from tui.text.lines import inert
from tui.widgets.keys import KeyBar, Section
from tui.widgets.lines import SearchBar
from tui.widgets.lists import BoardTitle, ConversationGrid, ConversationList
from tui.widgets.meters import CURVES_FROM, Arms, Meters, RunHeader
from tui.widgets.transcript import (
    AnswerBar,
    Expectations,
    PersonAnswered,
    Script,
    SideBySide,
    Title,
    TranscriptView,
    turns_of,
)

LINGER_S = 1.0
"""The seconds that the last state stays in sight after the end of a run that is followed."""

NOTICE_S = 8.0

BOARD = 24, 0.38
"""The fewest cells of the list of conversations, and its largest share of the screen."""
PANES = 14, 0.5
"""The fewest cells of a pane that is made narrower, and the largest share of the screen of one made wider."""
NAME_MARGIN = 9
"""The cells of a row of that list beside the name, for the mark, the sign and the progress."""

_POSSIBLE = (
    *("pause", "resume", "skip", "step", "failure", "arm", "search", "end_search"),
    *("answer", "phrase", "steps", "card"),
)
"""Actions that become possible or impossible as a run goes on; the bar at the bottom follows."""


class RunScreen(ReadingScreen):
    """The screen of a run as it happens."""

    SUBJECT = "A run as it happens"
    KEYS: ClassVar[tuple[Section, ...]] = keys.RUN
    SIGNS = SIGNS
    is_kept = True
    """Whether the run is kept when the view is left."""
    above_meters: Sequence[Widget] = ()
    """Widgets between the transcript and the numbers."""

    def __init__(self, live_run: LiveRun) -> None:
        super().__init__(live_run)
        self._pace = Pace(os.environ)
        self._possible: list[bool | None] = []
        self._ended = False
        self._has_shown_end = False
        self._board_width = 0
        self._wider = {"#board": 0, "#expectations": 0}
        self._moment: tuple[int, str] | None = None
        self._estimated: tuple[int, int] | None = None
        self._estimates: dict[str, Estimate] = {}
        self._repeated = RepeatOutcomes((), ())

    def compose(self) -> ComposeResult:
        yield RunHeader(id="header")
        yield Arms(id="arms")
        with Horizontal(id="body"):
            with Vertical(id="board"):
                yield BoardTitle(id="board-title")
                yield ConversationList(self.board, id="conversations")
                yield ConversationGrid(self.board, id="grid")
            with Vertical(id="reading"):
                yield Title(id="title")
                yield TranscriptView(id="transcript")
                yield SideBySide(id="sides")
                yield SearchBar(id="search")
                yield AnswerBar(id="answer")
            yield Script(id="script")
            yield Expectations(id="expectations")
        yield from self.above_meters
        yield Meters(id="meters")
        yield KeyBar()

    # Time

    def on_mount(self) -> None:
        self._tick()

    def _tick(self) -> None:
        self.catch_up()
        # Painting happens after this callback, so the time is measured from tick to tick.
        self.set_timer(self._pace.next_s(*self._pace.spent()), self._tick)

    def catch_up(self) -> None:
        """Apply the events since the last call, and show them."""
        events = self.live_run.catch_up()
        for event in events:
            if isinstance(event, Notice):
                self.notify(inert(event.text), timeout=NOTICE_S, markup=False)
            elif isinstance(event, ArmFinished) and event.failure is not None:
                self.notify(inert(event.failure), severity="error", timeout=NOTICE_S, markup=False)
        through = self.live_run.through
        if through and not self._ended:
            self._run_ended()
        if through and self.reading is None and not self.live_run.was_told:
            # A run that was over when it was opened is shown from its first failure on.
            self.read(self.board.next_failure(None, 1) or self.board.moved(None, 1))
        self._ended = through
        moment = int(self.live_run.elapsed_s), self.live_run.condition
        if events or moment != self._moment:
            self._moment = moment
            self.show_state()

    def _run_ended(self) -> None:
        if isinstance(self.app.screen, QuitScreen):
            self.app.screen.dismiss(None)
        is_whole = self.state.finished and not self.live_run.control.is_stopped
        if self.live_run.ours and self.live_run.over and not is_whole:
            self.set_timer(0.01, self.app.exit)
        elif self.live_run.was_told:
            self.set_timer(LINGER_S, self._end_unless_reading)

    def _end_unless_reading(self) -> None:
        """Show how the run ended, unless somebody is still reading, who can open it later."""
        if self.following and self.is_current and not self._has_shown_end:
            self.action_card()

    def action_card(self) -> None:
        """Show the card of what is stored of the run."""
        self._has_shown_end = self.state.finished
        store, run = Path(self.state.store), self.state.run

        def make() -> Card:
            with Runs.open(store) as runs:
                return Card.of(runs, run, is_kept=self.is_kept)

        def read(answer: str | None) -> None:
            if answer == QUIT:
                self.leave()

        def show(card: Card) -> None:
            if self.is_current:
                self.app.push_screen(CardScreen(card), read)

        def fail(fault: str) -> None:
            if self.live_run.ours and self.live_run.over:
                self.app.exit()
            else:
                self.say_fault(fault)

        self.in_background(make, show, fail, group="card")

    # Showing

    def show_state(self) -> None:
        """Update every widget; each paints only what changed."""
        if not self.is_shown:
            return
        state = self.state
        if self.following and state.current is not None:
            self.reading = state.current
        conversation, instead = self.shown(self.reading)
        arm = self.reading.arm if self.reading else 0
        several = len(state.arms) > 1 or (bool(state.arms) and self.size.width >= CURVES_FROM)
        if several != self.has_class("-several"):
            self.set_class(several, "-several")
            self.query_one(Arms).styles.height = len(state.arms)
        self.query_one(RunHeader).show_run(state, self.live_run.condition)
        self.query_one(Arms).show_arms(state, arm)
        self._show_board()
        if self.side_by_side:
            self._show_sides(conversation)
        else:
            self._show_transcript(conversation, instead)
        self.query_one(Expectations).show_conversation(conversation)
        self._show_question()
        estimates, times = self._estimates_of(arm), (self.live_run.elapsed_s, self.live_run.remaining)
        of_arm = state.arm(arm) if state.arms else None
        self.query_one(Meters).show_arm(of_arm, state.declaration, estimates, *times, self._repeated)
        possible = [self.check_action(action, ()) for action in _POSSIBLE]
        if possible != self._possible:
            self._possible = possible
            self.refresh_bindings()

    def _show_board(self) -> None:
        is_grid = self.has_class("-grid")
        self._make_room_for_names()
        rows = self.query_one(ConversationList)
        if is_grid:
            self.query_one(ConversationGrid).show_run(self.state, self.reading)
        else:
            rows.show_run(self.state, self.reading)
        columns = range(0) if is_grid else rows.arms
        self.query_one(BoardTitle).show_board(self.board, self.state, columns)

    def _make_room_for_names(self) -> None:
        """Make the list as wide as its names need, within bounds; a grid gets the greatest width."""
        least, share = BOARD
        columns = 2 * (len(self.state.arms) - 1)
        least += columns and columns - 1
        longest = max(map(len, map(self.board.short, self.board.rows)), default=0)
        needed = longest + NAME_MARGIN + columns
        most = max(least, int(self.size.width * share))
        width = most if self.has_class("-grid") else min(max(needed, least), most)
        width = min(max(width + self._wider["#board"], PANES[0]), int(self.size.width * PANES[1]))
        if self._board_width != width:
            self._board_width = width
            self.query_one("#board").styles.width = width

    def action_widen(self, pane: str, cells: int) -> None:
        """Make a pane wider or narrower, within bounds that leave room for the others."""
        self._wider[pane] += cells
        if pane == "#expectations":
            panel = self.query_one(Expectations)
            least, most = PANES[0], int(self.size.width * PANES[1])
            panel.styles.width = min(max(panel.size.width + cells, least), most)
        self.show_state()

    def _show_transcript(self, conversation: ConversationState | None, instead: str) -> None:
        self.page.show_conversation(conversation, f" {instead}")
        several = self.reading is not None and len(self.state.arms) > 1
        arm = self._names()[self.reading.arm] if several and self.reading else ""
        hits, pace = self.page.hits, self.live_run.pace_of(self.reading)
        self.query_one(Title).show_conversation(conversation, self.following, note=arm, hits=hits, pace=pace)

    def _show_sides(self, conversation: ConversationState | None) -> None:
        conversations = [self.shown(where) for where in self.sides()]
        if self.reading is None or not conversations:
            return
        played = max(turns_of(conversation) for conversation, _ in conversations)
        number = min(self.turn or max(turns_of(conversation), 1), max(played, 1))
        sides = [
            (self._names()[arm], conversation, instead or "this turn is not played yet")
            for arm, (conversation, instead) in enumerate(conversations)
        ]
        turns = max((conversation.turns for conversation, _ in conversations if conversation), default=0)
        note = f"turn {number} of {turns}"
        self.query_one(Title).show_conversation(conversation, self.following, note=note)
        self.query_one(SideBySide).show_turn(sides, self.reading.arm, number)

    def _names(self) -> list[str]:
        """Return short names for the arms, without what they have in common."""
        return short_names([arm.info.name for arm in self.state.arms])

    def _show_question(self) -> None:
        """Show what a person is asked, if one plays a role of this run."""
        question, bar = self.live_run.question, self.query_one(AnswerBar)
        if self.live_run.over:
            bar.close()
        elif question is not None or bar.display:
            bar.show_question(question)
        self.set_class(bar.display, "-asked")
        if question is not None:
            self.query_one(Script).show_question(question)

    def _estimates_of(self, arm: int) -> dict[str, Estimate]:
        """Return the rates of an arm with their intervals, computed again if the arm or the run changed."""
        if self._estimated != (arm, self.state.changes):
            self._estimated = arm, self.state.changes
            # Of an arm that stops by its results, neither a rate nor its interval would be fair.
            is_fair = bool(self.state.arms) and UNPLAYED not in (self.state.arm(arm).rated or {})
            cells = (cell for where, cell in self.state.conversations.items() if is_fair and where.arm == arm)
            counted = [(cell.where.conversation, cell.counts) for cell in cells if cell.counts is not None]
            self._estimates = estimates(counted, self.state.declaration)
            succeeded = self.state.declaration.succeeded
            self._repeated = RepeatOutcomes.of((name, succeeded(counts)) for name, counts in counted)
        return self._estimates

    # Other screens

    def action_steps(self) -> None:
        if self.reading is not None:
            screen = ConversationScreen(Path(self.state.store), self.state.run, self.reading)
            self.app.push_screen(screen)

    def action_runs(self) -> None:
        self.post_message(RunsOpened(Path(self.state.store), may_resume=not self.live_run.ours))

    def action_groups(self) -> None:
        """Show the heat map of what is stored of the run."""
        store, run = Path(self.state.store), self.state.run

        def show(maps: list[Groups]) -> None:
            if self.is_current:
                self.app.push_screen(HeatScreen(f"run {run} by tool, skill, tag and suite", maps))

        def fail(fault: str) -> None:
            if self.is_current:
                self.app.push_screen(TextScreen(f"run {run}", fault))

        self.in_background(lambda: heat_maps(store, run), show, fail, group="groups")

    # Answering

    def on_person_answered(self, message: PersonAnswered) -> None:
        """Send the answer; what is typed while the other role is to speak stays in the line."""
        if message.text and self.live_run.answer(message.text):
            self.query_one(AnswerBar).clear()
            self.show_state()

    def action_answer(self) -> None:
        self.query_one(AnswerBar).focus()

    def action_phrase(self, number: int) -> None:
        question = self.live_run.question
        if question is not None and number < len(question.phrases):
            self.on_person_answered(PersonAnswered(question.phrases[number]))

    # What is possible

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        several = len(self.state.arms) > 1
        match action:
            case "pause" | "resume" | "stop":
                return self.can_steer(action)
            case "skip":
                read = self.state.conversations.get(self.reading) if self.reading else None
                is_open = read is not None and read.status in (signs.WAITING, signs.RUNNING)
                return self.can_steer(action) and is_open
            case "failure":
                return bool(self.state.failures) or None
            case "side_by_side" | "arm" | "order":
                return several
            case "match" | "end_search":
                return bool(self.page.term)
            case "search" | "full" | "call" | "copy":
                return not self.side_by_side
            case "answer":
                return self.has_class("-asked")
            case "phrase":
                question = self.live_run.question
                return question is not None and bool(question.phrases)
            case "write" | "steps":
                return self.reading is not None
            case "groups" | "card":
                return bool(self.state.store)
            case "runs":
                # Leaving a screen above the runs leads back to them.
                is_above = any(getattr(screen, "LISTS_RUNS", False) for screen in self.app.screen_stack)
                return bool(self.state.store) and not is_above
            case _:
                return True

    def on_screen_resume(self) -> None:
        self.show_state()


class WatchScreen(RunScreen, inherit_bindings=False):
    """The screen of a run that a player replays. Leaving ends the replay, never the run."""

    SUBJECT = "A run watched again, or from elsewhere"
    # Nobody plays a role in a replay.
    KEYS = (keys.REPLAY, *(section for section in RunScreen.KEYS[1:] if section is not keys.PERSON))

    def __init__(self, replay: Replay) -> None:
        super().__init__(replay)
        self.replay = replay
        self.player = replay.player
        self._said_failure = False

    def on_mount(self) -> None:
        self.replay.start()

    def on_unmount(self) -> None:
        self.replay.stop()

    def catch_up(self) -> None:
        super().catch_up()
        if self.replay.failure is not None and not self._said_failure:
            self._said_failure = True
            self.notify(inert(self.replay.failure_text), severity="error", timeout=60, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("pause", "resume"):
            return not self.player.is_over and self.player.is_paused == (action == "resume")
        if action == "step":
            return not self.player.is_over
        if action == "seek":
            return self.reading is not None
        return super().check_action(action, parameters)

    def leave(self) -> None:
        self.player.stop()
        super().leave()

    def action_faster(self) -> None:
        self._change_speed(self.player.faster)

    def action_slower(self) -> None:
        self._change_speed(self.player.slower)

    def action_step(self) -> None:
        self.player.step()
        self.show_state()

    def action_seek(self) -> None:
        self._seek(self.reading)

    def action_seek_start(self) -> None:
        self._seek(None)

    def action_seek_end(self) -> None:
        self.player.seek_end()
        self.player.resume()
        self.following = True
        self.show_state()

    def _seek(self, where: Where | None) -> None:
        self.player.seek(where)
        self.player.resume()
        self.following = True
        self.show_state()

    def _change_speed(self, change: Callable[[], None]) -> None:
        change()
        self.notify(speed_text(self.player.speed), timeout=1, markup=False)
        self.show_state()
