"""A person plays the user: in the live view, on a plain terminal, left and taken up again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminals import RIG, Terminal

Rig = Callable[..., Any]
ASKED = ("run", "oracle", "--suite", "dynamic", "--user", "human")
ONE = ("--only", "half-the-rent")
TWO = (*ONE, "--only", "card-in-taxi")


def typed(words: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `rig` on plain lines, with these lines typed; then nobody is there any more."""
    done = subprocess.run(
        [sys.executable, "-m", "rig", *arguments],
        input=words,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == code, done.stderr
    return done


def test_a_person_on_plain_lines_reads_the_script_and_what_is_said(rig: Rig) -> None:
    done = typed(
        "  450 euros to Samir Haddad \n\nrent for March, today\n", *ASKED, *ONE, "--display", "plain"
    )
    assert "half-the-rent: you are the user; [fail] ends it" in done.stdout
    assert 'Parameters: {"recipient": "Samir Haddad"' in done.stdout
    assert (
        "you> I owe my flatmate money.\nthey> Could you tell me the recipient and the amount?\nyou> "
        in done.stdout
    )
    assert "Now let's start the chat" not in done.stdout
    shown = rig("show", "latest", "half-the-rent").out
    assert "user: 450 euros to Samir Haddad\n" in shown
    assert "user: rent for March, today\n" in shown
    (arm,) = rig("show", "latest", "--json").json["arms"]
    assert (arm["f1"], arm["fingerprint"]["role.user.engine"]) == (1, "human")


@pytest.mark.slow
def test_whoever_leaves_goes_on_later_with_the_same_turn(rig: Rig) -> None:
    left = typed("450 euros to Samir Haddad\n", *ASKED, *TWO, "--display", "plain", code=130)
    assert "stopping" in left.stdout
    again = typed("rent for March, today\n[fail]\n", "run", "--resume", "latest", "--display", "plain")
    assert "you> 450 euros to Samir Haddad\nthey> Could you tell me the message and the date?" in again.stdout
    first, second = rig("show", "latest", "--json").json["conversations"]
    assert (first["metrics"]["f1"], first["turns_done"]) == (1, 3)
    assert (second["metrics"]["user_failed_rate"], second["state"]) == (1, "finished")


def test_a_display_that_takes_no_answers_is_refused_before_anything_is_stored(
    rig: Rig, tmp_path: Path
) -> None:
    for display in ("none", "log"):
        done = rig(*ASKED, *ONE, "--display", display, "--runs", tmp_path / "new.sqlite")
        assert (done.code, "--display tui or plain" in done.err) == (2, True)
    assert not (tmp_path / "new.sqlite").exists()


def test_a_person_is_no_model_to_be_evaluated(rig: Rig) -> None:
    done = rig("run", "human", "--suite", "dynamic")
    assert (done.code, "human" in done.err) == (2, True)


LIVE = ("run", "oracle", "--method", "dynamic", "--suite", "easy", "--similarity", "exact", "--user", "human")


@pytest.mark.slow
def test_a_person_talks_in_tooltalks_world_and_comes_back(rig: Rig) -> None:
    asked = (*LIVE, "--only", "AddAlarm-easy", "--display", "plain")
    left = typed("ten to five\n", *asked, code=130)
    assert "you are the user; [DONE] ends it" in left.stdout
    assert "Username: mei_lin_t" in left.stdout
    assert "AddAlarm" not in left.stdout.split("you> ", 1)[1]
    again = typed("Thanks. [DONE]\n", "run", "--resume", "latest", "--display", "plain")
    assert "you> ten to five\nthey> Your alarm is set for 4:50 in the morning." in again.stdout
    (arm,) = rig("show", "latest", "--json").json["arms"]
    assert (arm["success_rate"], arm["length"]) == (1, 5)


ASKS, BLURRED = "what do you say as the user?", "(press i)"


def answered(terminal: Terminal, *texts: str) -> str:
    """The screen, once it shows these texts and has the keys in an empty line to answer in."""
    return terminal.wait(ASKS, *texts, without=BLURRED)


def leave(terminal: Terminal) -> None:
    """Give the keys back and stop the run."""
    terminal.press("Escape")
    terminal.wait(BLURRED)
    terminal.press("q")
    terminal.wait("The run is still going.")
    terminal.press("s")
    terminal.wait("rig run --resume")


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_person_in_the_live_view_from_the_first_word_to_the_last(
    rig: Rig, terminal: Terminal, tmp_path: Path
) -> None:
    terminal.resize(120, 40)
    terminal.type(f"{RIG} {' '.join((*ASKED, *TWO))} --runs human.sqlite")
    answered(terminal, "the recipient and the", "you are the user", "Tuva wants to send")
    terminal.type("450 euros to Samir Haddad")
    answered(terminal, "the message and the", "450 euros to Samir Haddad")
    terminal.press("Escape")
    terminal.wait(BLURRED)
    terminal.press("i")
    answered(terminal)
    leave(terminal)
    terminal.type(f"clear; {RIG} run --resume latest --runs human.sqlite")
    answered(terminal, "the message and the", "Tuva wants to send", "450 euros to Samir Haddad")
    terminal.type("rent for March, today")
    answered(terminal, "the card type and the", "Raul wants his card")
    terminal.press("C-g")
    terminal.wait("read the run")
    terminal.press("q")
    terminal.wait("is stored in")
    cells = rig("show", "latest", "--runs", tmp_path / "human.sqlite", "--json").json["conversations"]
    assert [each["metrics"]["f1"] for each in cells] == [1, 0]
    assert cells[1]["metrics"]["user_failed_rate"] == 1


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_person_in_the_live_view_of_tooltalks_world(rig: Rig, terminal: Terminal, tmp_path: Path) -> None:
    terminal.resize(120, 40)
    terminal.type(f"{RIG} {' '.join(LIVE)} --only AddAlarm-easy --runs live.sqlite")
    answered(terminal, "What time should the alarm go off?", "Username: mei_lin_t")
    terminal.type("ten to five")
    answered(terminal, "Your alarm is set for 4:50", "AddAlarm")
    leave(terminal)
    terminal.type(f"clear; {RIG} run --resume latest --runs live.sqlite")
    answered(terminal, "Your alarm is set for 4:50", "ten to five")
    terminal.press("C-g")
    terminal.wait("read the run")
    terminal.press("q")
    terminal.wait("is stored in")
    (arm,) = rig("show", "latest", "--runs", tmp_path / "live.sqlite", "--json").json["arms"]
    assert (arm["success_rate"], arm["length"]) == (1, 4)
