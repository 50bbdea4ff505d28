"""Every binding does what it says, under a pilot. A binding without a line in this table fails the walk."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.binding import Binding

import tui.screens
from rig.core.events import Event, PersonAsked, Where
from tui.app import RigApp
from tui.screens.base import DETACH, AskScreen, QuitScreen, RigScreen
from tui.screens.conversation import ConversationScreen
from tui.screens.pages import HelpScreen, TextScreen
from tui.screens.run import RunScreen
from tui.screens.runs import RunsScreen
from tui.text.lines import Tint
from tui.widgets.lines import SearchBar
from tui.widgets.lists import ConversationGrid
from tui.widgets.transcript import AnswerBar, Expectations, SideBySide, TranscriptView

HERE = Path(__file__).resolve().parent
Watch = Callable[[list[Event]], Any]


class Pilot(NamedTuple):
    """What a key does: the keys before it, and what is true after it and was not before.

    With a `question` a person is asked something meanwhile.
    """

    before: tuple[str, ...]
    done: Callable[[Any], bool]
    question: PersonAsked | None = None


ASKED = PersonAsked(Where(0, "AddAlarm-easy"), 0, 0, "user", "Purpose: Ann wants light.", (), ("[fail]",))


def reads(conversation: str, arm: int = 1) -> Callable[[Any], bool]:
    return lambda it: it.run.reading == Where(arm, f"{conversation}-easy")


def asks(kind: type[Any]) -> Callable[[Any], bool]:
    return lambda it: isinstance(it.app.screen, kind)


def transcript(it: Any) -> TranscriptView:
    found: TranscriptView = it.run.query_one(TranscriptView)
    return found


def scrolled_to(line: int) -> Callable[[Any], bool]:
    return lambda it: transcript(it).scroll_offset.y == line


def sees(text: str) -> Callable[[Any], bool]:
    return lambda it: text in it.screen


def at_match(count: str) -> Callable[[Any], bool]:
    return lambda it: transcript(it).hits == count


def copies(name: str) -> Callable[[Any], bool]:
    """Whether the chosen call has this name."""
    return lambda it: (call := transcript(it).call) is not None and call.name.text == name


def edits(it: Any) -> list[Any]:
    return [worker for worker in it.app.workers if worker.group == "edit"]


LATE = ("x", "end")
"""The failed conversation of the second arm, at its end."""

RUN = {
    "q": Pilot((), asks(QuitScreen)),
    "p": Pilot((), lambda it: it.control.is_paused),
    "p to resume": Pilot(("p",), lambda it: not it.control.is_paused),
    "s": Pilot((), lambda it: it.control.take_skip(Where(1, "DeleteAlarm-easy"))),
    "S": Pilot((), asks(AskScreen)),
    "C": Pilot((), lambda it: "no such file" in "".join(it.said)),
    "f": Pilot(("x",), lambda it: it.run.following),
    "x": Pilot((), reads("AddReminder")),
    "X": Pilot((), reads("CurrentWeather")),
    "F": Pilot((), sees("failed 3 of 12")),
    "a": Pilot((), lambda it: it.run.query_one(SideBySide).display),
    "v": Pilot((), lambda it: it.run.query_one(ConversationGrid).display),
    "greater_than_sign": Pilot((), lambda it: it.run._wider["#board"] == 4),
    "less_than_sign": Pilot((), lambda it: it.run._wider["#board"] == -4),
    "right_parenthesis": Pilot((), lambda it: it.run._wider["#expectations"] == 4),
    "left_parenthesis": Pilot((), lambda it: it.run._wider["#expectations"] == -4),
    "o": Pilot((), lambda it: it.run.board.rows[0].conversation == "AddAlarm-easy"),
    "down": Pilot((), reads("DeleteEvent")),
    "j": Pilot((), reads("DeleteEvent")),
    "up": Pilot((), reads("CurrentWeather")),
    "k": Pilot((), reads("CurrentWeather")),
    "right": Pilot((), reads("DeleteAlarm", 2)),
    "l": Pilot((), reads("DeleteAlarm", 2)),
    "left": Pilot((), reads("DeleteAlarm", 0)),
    "h": Pilot((), reads("DeleteAlarm", 0)),
    "g": Pilot((), reads("AddReminder")),
    "G": Pilot((), reads("SendEmail")),
    "slash": Pilot((), lambda it: it.run.query_one(SearchBar).has_focus),
    "n": Pilot(("x", "slash", *"plumber", "enter"), at_match("2 of 2")),
    "N": Pilot(("x", "slash", *"plumber", "enter", "n"), at_match("1 of 2")),
    "escape": Pilot(("x", "slash", *"plumber", "enter"), lambda it: not transcript(it).term),
    "r": Pilot(LATE, lambda it: bool(transcript(it)._full)),
    "c": Pilot(LATE, lambda it: [json.loads(text)["name"] for text in it.copied] == ["AddReminder"]),
    # The file is looked for in the background; what comes of it is in test_editor.py.
    "O": Pilot(LATE, lambda it: bool([*it.app._notifications, *edits(it)])),
    "w": Pilot((), asks(AskScreen)),
    "enter": Pilot((), asks(ConversationScreen)),
    "T": Pilot((), asks(TextScreen)),
    "R": Pilot((), asks(RunsScreen)),
    "e": Pilot((), lambda it: it.run.query_one(Expectations).display),
    "ctrl+g": Pilot((), lambda it: it.control.question is None, ASKED),
    "i": Pilot(("escape",), lambda it: it.run.query_one(AnswerBar).has_focus, ASKED),
    "tab": Pilot((*LATE, "shift+tab", "shift+tab"), copies("AddReminder")),
    "shift+tab": Pilot((*LATE, "shift+tab"), copies("DeleteAlarm")),
    "right_square_bracket": Pilot(("x",), lambda it: transcript(it).scroll_offset.y > 0),
    "left_square_bracket": Pilot(("x", "right_square_bracket"), scrolled_to(0)),
    "pagedown": Pilot(("x",), lambda it: transcript(it).scroll_offset.y > 0),
    "space": Pilot(("x",), lambda it: transcript(it).scroll_offset.y > 0),
    "pageup": Pilot(("x", "pagedown"), scrolled_to(0)),
    "b": Pilot(("x", "pagedown"), scrolled_to(0)),
    "home": Pilot(LATE, scrolled_to(0)),
    "end": Pilot(("x",), lambda it: transcript(it).at_end),
}

EVERYWHERE = {
    "question_mark": Pilot((), asks(HelpScreen)),
    "t": Pilot((), lambda it: it.app.theme == "rig-light"),
    "ctrl+p": Pilot((), lambda it: type(it.app.screen).__name__ == "CommandPalette"),
    "ctrl+c": Pilot((), asks(QuitScreen)),
    "ctrl+q": Pilot((), asks(QuitScreen)),
}

HELP = {key: Pilot(("question_mark",), asks(RunScreen)) for key in ("escape", "q", "question_mark")}

PILOTS: dict[type[Any], dict[str, Pilot]] = {RunScreen: RUN, RigApp: EVERYWHERE, HelpScreen: HELP}

ELSEWHERE = {
    "AdjudicationScreen": "test_adjudication_screen.py",
    "CardScreen": "test_card_screen.py",
    "ConversationScreen": "test_conversation_screen.py",
    "RunsScreen": "test_runs_screen.py",
    "TextScreen": "test_runs_screen.py",
    "WatchScreen": "test_watch_screen.py",
}
"""Screens whose keys are pressed in a file of their own."""


def keys_of(kind: type[Any]) -> set[str]:
    bindings = vars(kind).get("BINDINGS", ())
    return {key for one in bindings if isinstance(one, Binding) for key in one.key.split(",")}


def screens() -> Iterator[type[Any]]:
    for module in pkgutil.iter_modules(tui.screens.__path__):
        for _, kind in inspect.getmembers(
            importlib.import_module(f"tui.screens.{module.name}"), inspect.isclass
        ):
            if kind.__module__ == f"tui.screens.{module.name}":
                yield kind


@pytest.mark.parametrize("kind", [*screens(), RigApp], ids=lambda kind: kind.__name__)
def test_every_binding_has_a_pilot(kind: type[Any]) -> None:
    keys = keys_of(kind)
    if kind.__name__ in ELSEWHERE:
        text = (HERE / ELSEWHERE[kind.__name__]).read_text(encoding="utf-8")
        inherited = keys_of(RunScreen) if issubclass(kind, RunScreen) else set()
        assert {key for key in keys - inherited if f'"{key}"' not in text} == set()
    else:
        assert keys == {key.split(" ")[0] for key in PILOTS.get(kind, {})}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "pilot"),
    [(key, pilot) for table in PILOTS.values() for key, pilot in table.items()],
    ids=[f"{kind.__name__}-{key}" for kind, table in PILOTS.items() for key in table],
)
async def test_a_key_does_what_it_says(watch: Watch, three_arms: list[Event], key: str, pilot: Pilot) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(100, 16)) as driver:
        await driver.pause()
        if pilot.question is not None:
            watched.control.ask(pilot.question)
            watched.tell([pilot.question])
            await watched.until(lambda: watched.run.query_one(AnswerBar).has_focus)
        for pressed in pilot.before:
            await driver.press(pressed)
        await driver.pause()
        assert not pilot.done(watched), "it was so before"
        await driver.press(key.split(" ")[0])
        await driver.pause()
        assert pilot.done(watched)


@pytest.mark.parametrize("kind", [*screens(), RigApp], ids=lambda kind: kind.__name__)
def test_every_binding_says_what_it_does(kind: type[Any]) -> None:
    for binding in vars(kind).get("BINDINGS", ()):
        if issubclass(kind, RigScreen | RigApp):
            assert binding.description
            assert binding.tooltip


async def test_the_footer_shows_what_is_possible_now(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(200, 24)) as driver:

        async def footer(*keys: str) -> str:
            await driver.press(*keys)
            await driver.pause()
            return "".join(text for text, _ in watched.run.query_one("KeyBar").lines[0])

        first = await footer()
        assert "p pause" in first
        assert "p go on" not in first
        assert "a arms" not in first
        assert "p go on" in await footer("p")
        assert "n next" in await footer("slash", "e", "enter")
        assert "n next" not in await footer("escape")
        assert "s skip" not in await footer("g")
        watched.control.stop()
        watched.run.catch_up()
        assert "p go on" not in await footer()


async def test_a_click_on_the_footer_presses_the_key(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(120, 24)) as driver:
        await driver.pause()
        line = "".join(text for text, _ in watched.run.query_one("KeyBar").lines[0])
        await driver.click("#keys", offset=(line.index("p pause") + 3, 0))
        await driver.pause()
        assert watched.control.is_paused


@pytest.mark.slow
async def test_the_palette_offers_what_is_possible(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(100, 30)) as driver:
        await driver.press("ctrl+p", *"theme light")
        await watched.until(lambda: watched.app.screen.query_one("CommandList").option_count == 1)
        await driver.press("enter")
        await watched.until(lambda: watched.app.theme == "rig-light")
        await driver.press("ctrl+p", *"pause after")
        await watched.until(lambda: watched.app.screen.query_one("CommandList").option_count == 1)
        await driver.press("enter")
        await watched.until(lambda: watched.control.is_paused)


async def test_answers_have_keys(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as driver:
        await driver.press("q", "w")
        await driver.pause()
    assert watched.app.return_value == DETACH


async def test_what_is_wrong_is_told_without_colour(watch: Watch, three_arms: list[Event]) -> None:
    """Each state has a glyph of its own, so that colour says nothing alone."""
    from tui.live.state import IN_ORDER

    assert len({str(each.glyph).lower() for each in IN_ORDER}) == len(IN_ORDER)
    assert {each.tint for each in IN_ORDER} <= set(Tint)
