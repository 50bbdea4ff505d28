"""A person who plays a role answers in the live view."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rig.core.events import Event, PersonAsked, Where
from tui.widgets.transcript import AnswerBar, Script

Watch = Callable[[list[Event]], Any]

HERE = Where(0, "AddAlarm-easy")
SCRIPT = "Character: Ann, a nurse\nPurpose: Ann wants light.\x1b[2J"


def asked(turn: int) -> PersonAsked:
    return PersonAsked(HERE, turn, 0, "user", SCRIPT, (), ("[fail]",))


@pytest.mark.slow
async def test_what_is_typed_is_said_and_what_is_typed_too_early_waits(
    watch: Watch, mid_run: list[Event]
) -> None:
    watched = watch(mid_run)
    said: list[str] = []
    async with watched.app.run_test(size=(120, 30)) as driver:
        bar = watched.run.query_one(AnswerBar)
        assert not bar.display
        watched.control.ask(asked(0))
        listener = threading.Thread(target=lambda: said.append(watched.control.wait_for_answer()))
        listener.start()
        watched.tell([asked(0)])
        await watched.until(lambda: bar.has_focus)
        await driver.press(*"q p", "enter")
        await watched.until(lambda: bool(said))
        assert said == ["q p"]
        assert not watched.control.is_paused
        await driver.press(*"next", "enter")
        assert bar.value == "next"
        watched.control.ask(asked(1))
        await driver.press("enter")
        await watched.until(lambda: watched.control.question is None)
        assert bar.value == ""
        listener.join()


@pytest.mark.slow
async def test_the_script_is_beside_the_transcript_and_cannot_steer_the_terminal(
    watch: Watch, mid_run: list[Event]
) -> None:
    for width in (58, 90, 130):
        watched = watch(mid_run)
        async with watched.app.run_test(size=(width, 30)):
            watched.control.ask(asked(0))
            watched.tell([asked(0)])
            await watched.until(lambda run=watched.run: bool(run.query_one(Script).lines))
            await watched.until(lambda it=watched: "Ann wants" in it.screen)
            assert "you are the user" in watched.screen
            assert "\x1b" not in watched.screen
            watched.end()
            await watched.until(lambda run=watched.run: not run.query_one(AnswerBar).display)
