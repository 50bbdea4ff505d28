"""Plain lines: what they say, and that no text of a model can steer the terminal."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import small_talks

from rig.core.calls import Json
from rig.core.errors import ErrorKind
from rig.core.events import Emit, Event, PromptRead, Where
from rig.core.models import OnRead, Request, unheard
from rig.methods.scripted import Scripted, failed
from rig.plugins.lines.displays import PlainDisplay
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run
from rig.show.summary import summary, whereabouts
from rig.store import ArmSums

CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def shown(todo: Plan) -> list[str]:
    """The lines that a run prints."""
    stream = io.StringIO()
    control = Control()

    def job(emit: Emit) -> bool:
        return run(todo, emit, control)

    PlainDisplay(stream).run(job, control)
    return stream.getvalue().splitlines()


def test_a_line_for_each_conversation_with_progress_and_running_rates(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    first, loading, ready, *lines = shown(small_talks.plan(path, small_talks.oracle()))
    assert first == f"run abcde: 3 conversations, 8 turns; stored in {path}"
    assert loading == "loading arm0"
    assert ready.startswith("arm0 is ready")
    assert [line.split(" | ")[0] for line in lines] == [
        "3/8 + success   alarms  3/3 calls",
        "6/8 + success   reminders  2/2 calls",
        "8/8 + success   login  3/3 calls",
    ]
    assert all("success 100.0%, recall 100.0%" in line for line in lines)
    assert lines[-1].endswith("0:00 left")


def test_arms_are_named_where_there_are_several_and_failures_said(tmp_path: Path) -> None:
    lines = shown(small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle(), small_talks.unloadable))
    assert lines[0].startswith("run abcde: 2 arms, 3 conversations, 16 turns")
    assert " 3/16 + success   arm0 alarms  3/3 calls" in lines[3]
    assert lines[-1] == "arm1 failed: no such weights"


def test_an_arm_that_only_the_machine_has_failed_is_not_evaluated_line_by_line(tmp_path: Path) -> None:
    model = Scripted(lambda _: failed(ErrorKind.CONTEXT, "prompt has 1962 tokens"))
    lines = [line for line in shown(small_talks.plan(tmp_path / "runs.sqlite", model)) if " | " in line]
    assert len(lines) == 3
    assert all(" | not evaluated | " in line and "success 0" not in line for line in lines)


def test_a_resumed_run_goes_on_counting(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    control = Control()
    control.skip(Where(0, "login"))
    run(small_talks.plan(path, small_talks.oracle()), lambda event: None, control)
    first, *_, last = shown(small_talks.plan(path, small_talks.oracle(), resume=True))
    assert "8 turns, 6 done before" in first
    assert last.startswith("8/8 + success   login")


def test_text_of_models_and_files_is_inert(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    hostile = Scripted(small_talks.erratic, name=small_talks.HOSTILE)
    todo = small_talks.plan(path, hostile, name="bad \x1b[31m")
    text = "\n".join(shown(todo))
    assert not CONTROLS.search(text)
    assert "! error" in text or "x failed" in text or "# incorrect" in text


def test_the_summary_has_a_column_for_each_arm_and_a_row_for_each_kind_of_error(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), Scripted(small_talks.erratic)))
    stored = small_talks.stored(path)
    rows = {line[:17].strip(): line[17:].split() for line in summary(stored).splitlines()}
    assert rows[""] == ["arm0", "arm1"]
    assert rows["success"] == ["100.0%", "0.0%"]
    assert rows["prompt from cache"][0] == "-"
    assert rows["prompt from cache"][1].endswith("%")
    for kind, count in stored.arms[1].errors.items():
        assert rows[kind] == ["0", str(count)]
    assert int(rows["steps in error"][1]) == sum(stored.arms[1].errors.values())


def test_the_summary_says_where_the_time_went(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    arm = small_talks.stored(path).arms[0]
    speed = replace(
        arm.speed, wall_s=10.0, prefill_s=2.0, decode_s=4.0, mask_s=1.5, tools_s=0.5, scoring_s=0.25
    )
    run = replace(small_talks.stored(path), arms=(replace(arm, sums=ArmSums(arm.counts, speed)),))
    lines = [line.split() for line in summary(run).splitlines()]
    for words in ("in the model 60.0%", "of it in the grammar 15.0%", "in tools 5.0%", "in scoring 2.5%"):
        assert words.split() in lines


def test_where_a_run_is_and_how_to_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "my runs.sqlite"
    control = Control()
    control.skip(Where(0, "login"))
    run(small_talks.plan(path, small_talks.oracle()), lambda event: None, control)
    text = whereabouts(small_talks.stored(path), str(path))
    assert f"rig show abcde --runs '{path}'" in text
    assert f"rig run --resume abcde --runs '{path}'  (2 turns are left)" in text
    small_talks.play(small_talks.plan(path, small_talks.oracle(), resume=True))
    assert "--resume" not in whereabouts(small_talks.stored(path), str(path))


class Reading(Scripted):
    """A model that reads a long beginning when it is prepared, in three batches."""

    def prepare(
        self,
        opening: Request,
        slots: int | None,
        before: Mapping[str, Json] | None = None,
        on_read: OnRead = unheard,
    ) -> None:
        for read in (0, 512, 1024):
            on_read(read, 1500)


class Screen(io.StringIO):
    """A terminal that remembers what was written to it."""

    def isatty(self) -> bool:
        return True


def test_a_prompt_that_is_being_read_is_a_passing_line_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    lines = shown(small_talks.plan(tmp_path / "runs.sqlite", Reading(small_talks.erratic)))
    drawn = [part.removesuffix("\r\x1b[K") for part in screen.getvalue().split("\r\x1b[K")][1:]
    assert drawn[:4] == [
        "reading the shared prompt:     0 of 1,500 tokens (0%), arm0",
        "reading the shared prompt:   512 of 1,500 tokens (34%), arm0",
        "reading the shared prompt: 1,024 of 1,500 tokens (68%), arm0",
        "",
    ]
    assert lines[2].startswith("arm0 is ready")
    assert not CONTROLS.search("\n".join(lines))


def test_nothing_passes_by_where_stderr_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(small_talks.plan(tmp_path / "runs.sqlite", Reading(small_talks.erratic)))
    assert "tokens (" not in "\n".join(lines)
    assert capsys.readouterr().err == ""


def test_a_run_can_be_stopped_while_its_prompt_is_read(tmp_path: Path) -> None:
    path, control, seen = tmp_path / "runs.sqlite", Control(), list[Event]()

    def emit(event: Event) -> None:
        seen.append(event)
        if isinstance(event, PromptRead) and event.read:
            control.stop()

    assert run(small_talks.plan(path, Reading(small_talks.erratic)), emit, control) is False
    assert [event.read for event in seen if isinstance(event, PromptRead)] == [0, 512]
    assert not path.exists()
