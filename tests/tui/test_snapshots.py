"""What the screens look like, as pictures. After a wanted change: pytest tests/tui --snapshot-update."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from rig.core.calls import Call, Difference, ExecutedCall, Outcome, Verdict
from rig.core.events import CallJudged, Event, PieceGenerated, PredictionMade
from rig.core.models import Prediction
from rig.show import signs

SIZES = [(120, 40), *(pytest.param(size, marks=pytest.mark.slow) for size in ((80, 24), (200, 60)))]


@pytest.fixture(autouse=True)
def _signs() -> None:
    signs.use(ascii_only=False)


@pytest.fixture
def snap(snap_compare: Any, watch: Callable[[list[Event]], Any]) -> Callable[..., None]:
    """Compares a picture of a run, a minute after its start, once `keys` were pressed."""

    def compare(
        events: list[Event], *keys: str, size: tuple[int, int] = (100, 30), theme: str = "rig-dark"
    ) -> None:
        watched = watch([])

        async def run_before(pilot: Pilot[Any]) -> None:
            await pilot.pause()
            watched.app.theme = theme
            watched.tell(events)
            watched.run.catch_up()
            watched.now = 62.0
            watched.run.catch_up()
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()

        before: Callable[[Pilot[Any]], Awaitable[None]] = run_before
        assert snap_compare(watched.app, terminal_size=size, run_before=before)

    return compare


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_following(snap: Callable[..., None], mid_run: list[Event], size: tuple[int, int]) -> None:
    snap(mid_run, size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_reading_a_failure(snap: Callable[..., None], mid_run: list[Event], size: tuple[int, int]) -> None:
    snap(mid_run, "x", size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_several_arms(snap: Callable[..., None], three_arms: list[Event], size: tuple[int, int]) -> None:
    snap(three_arms, size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_side_by_side(snap: Callable[..., None], three_arms: list[Event], size: tuple[int, int]) -> None:
    snap(three_arms, "g", "a", size=size)


@pytest.mark.slow
def test_reading_an_error(snap: Callable[..., None], mid_run: list[Event]) -> None:
    snap(mid_run, "x", "x")


@pytest.mark.parametrize("theme", ["rig-light", "rig-terminal"])
def test_themes(snap: Callable[..., None], mid_run: list[Event], theme: str) -> None:
    snap(mid_run, "x", theme=theme)


def test_without_colour(
    snap: Callable[..., None], mid_run: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(mid_run, "x")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
def test_help(snap: Callable[..., None], mid_run: list[Event], size: tuple[int, int]) -> None:
    snap(mid_run, "question_mark", size=size)


def test_quit(snap: Callable[..., None], mid_run: list[Event]) -> None:
    snap(mid_run, "q", size=(80, 24))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
@pytest.mark.slow
def test_in_ascii(snap: Callable[..., None], mid_run: list[Event], size: tuple[int, int]) -> None:
    signs.use(ascii_only=True)
    snap(mid_run, "x", size=size)


def test_narrow(snap: Callable[..., None], mid_run: list[Event]) -> None:
    snap(mid_run, size=(50, 16))


def test_nothing_yet(snap: Callable[..., None]) -> None:
    snap([], size=(80, 24))


def test_hostile_output(snap: Callable[..., None], stream: Any) -> None:
    run = stream(conversations=3)
    run.names[0] = "[red]name[/]\x1b[2J"
    where = run.start(0)
    said = "wide 日本語, emoji \U0001f600, joined \U0001f469\u200d\U0001f680, bidi \u202e olleh"
    run.turn(where, 1, said, ExecutedCall(Call("T", {"[b]a": "\x07"}), Outcome()))
    text = "\x1b]0;title\x07\x1b[2J[bold]markup[/bold]\r\n" + "x" * 100_000
    call = Call("[blink]Tool[/blink]", {"text": text})
    executed = ExecutedCall(call, Outcome(None, "[link=file:///etc/passwd]no\x1b[31m[/link]"))
    difference = Difference("[reverse]text", "\x1b[H", "[@click=app.exit]x[/]" * 50, 0.1, 0.9)
    run.events += [
        PredictionMade(where, 1, 0, Prediction(raw="", call=call)),
        CallJudged(where, 1, 0, executed, Verdict(False, bad_action=True, differences=(difference,))),
        PieceGenerated(where, 1, 1, '{"reply": "\x1b[5m[/]\u0301\u0301 ' + "long " * 60, 9, False),
    ]
    snap(run.events, size=(120, 60))
