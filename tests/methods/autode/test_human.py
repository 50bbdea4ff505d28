"""A person plays the user: in the live view, on a plain terminal, left and taken up again."""

import json
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
        "you> I owe Samir money.\nthey> Could you tell me the recipient and the amount?\nyou> " in done.stdout
    )
    assert "Now let's start the chat" not in done.stdout
    shown = rig("show", "latest", "half-the-rent").out
    assert "user: 450 euros to Samir Haddad\n" in shown
    assert "user: rent for March, today\n" in shown
    (arm,) = rig("show", "latest", "--json").json["arms"]
    assert (arm["f1"], arm["fingerprint"]["role.user.engine"]) == (1, "human")


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


@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_person_in_the_live_view_from_the_first_word_to_the_last(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.resize(120, 40)
    terminal.type(f"{RIG} {' '.join((*ASKED, *TWO))} --runs human.sqlite")
    screen = terminal.wait("what do you say as the user?", "the recipient and the", "you are the user")
    assert "Tuva wants to send" in screen
    terminal.type("450 euros to Samir Haddad")
    terminal.wait("the message and the", "450 euros to Samir Haddad")
    terminal.press("Escape")
    terminal.wait("(press i)")
    terminal.press("i")
    terminal.wait("as the user? ")
    terminal.press("Escape")
    terminal.wait("(press i)")
    terminal.press("q")
    terminal.wait("The run is still going.")
    terminal.press("s")
    terminal.wait("rig run --resume")
    terminal.type(f"clear; {RIG} run --resume latest --runs human.sqlite")
    screen = terminal.wait("what do you say as the user?", "the message and the", "Tuva wants to send")
    assert "450 euros to Samir Haddad" in screen
    terminal.type("rent for March, today")
    terminal.wait("the card type and the", "Raul wants his card")
    terminal.press("C-g")
    terminal.wait("is stored in")
    shown = [
        sys.executable,
        "-m",
        "rig",
        "show",
        "latest",
        "--runs",
        str(tmp_path / "human.sqlite"),
        "--json",
    ]
    cells = json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)["conversations"]
    assert [each["metrics"]["f1"] for each in cells] == [1, 0]
    assert cells[1]["metrics"]["user_failed_rate"] == 1
