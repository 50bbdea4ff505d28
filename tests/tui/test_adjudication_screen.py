"""Unclear texts judged in the terminal: ten pairs, some answered, left, and come back to."""

from pathlib import Path

import pytest
import unclear_talks
from stored_runs import seeing
from terminals import RIG, Terminal

from rig.core.errors import RigError
from rig.scoring import answers_file, read_answers
from tui.screens.pages import AdjudicationScreen


@pytest.mark.slow
def test_pairs_are_answered_left_and_come_back_to(tmp_path: Path, terminal: Terminal) -> None:
    store = tmp_path / "runs.sqlite"
    unclear_talks.play(store, clear=6)
    terminal.type(f"{RIG} --open {store.parent} runs --tui --runs {store}; echo gone")
    terminal.wait("abcde")
    terminal.press("u")
    terminal.wait("1 of 4: talk6", "expected: clean the garage", "finally", "mean the same?")
    terminal.press("y")
    terminal.wait("2 of 4: talk7", "1 answered")
    terminal.press("s")
    terminal.wait("3 of 4: talk8")
    terminal.press("n")
    terminal.wait("4 of 4: talk9", "2 answered")
    terminal.press("q")
    terminal.wait("abcde", "100.0%")
    answers = read_answers(answers_file(store))
    tasks = [(task, unclear_talks.blurred(task)) for task in unclear_talks.TASKS]
    assert [answers.of(*tasks[place]) for place in (6, 7, 8, 9)] == [True, None, False, None]
    terminal.press("u")
    terminal.wait("1 of 2: talk7")
    terminal.press("y")
    terminal.wait("2 of 2: talk9")
    terminal.press("y")
    terminal.wait("that was the last one", "rig score abcde")
    terminal.press("Escape")  # bound as "escape"
    terminal.wait("abcde", "100.0%")
    terminal.press("q")
    terminal.wait("gone")
    assert len(read_answers(answers_file(store))) == 4


class Refusing:
    """Two questions whose answers can be given, but not taken back."""

    questions = ("first", "second")
    answered = 0

    def answer(self, question: str, *, same: bool | None) -> None:
        if same is None:
            raise RigError("the answers cannot be written")


async def test_long_texts_are_scrolled_and_an_answer_that_stays_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.pages.Adjudication", lambda store, run: Refusing())
    text = "\n".join(f"line {number}" for number in range(60))
    monkeypatch.setattr("tui.screens.pages.question_text", lambda question, *_: f"{question}\n{text}")
    screen = AdjudicationScreen(tmp_path, "abcde")
    async with seeing(screen, (80, 24)) as seen:
        await seen.shows("first")
        await seen.press("end")
        assert screen.page.at_end
        await seen.press("y")
        await seen.shows("second")
        assert screen.page.scroll_offset.y == 0
        await seen.press("u")
        assert seen.said == ["the answers cannot be written"]
        await seen.shows("second")
        for down, up in (("pagedown", "pageup"), ("space", "b"), ("end", "home")):
            await seen.press(down)
            assert screen.page.scroll_offset.y > 0
            await seen.press(up)
            assert screen.page.scroll_offset.y == 0
