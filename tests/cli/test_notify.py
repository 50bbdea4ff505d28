"""What a terminal and a command of the user's are told while a run goes on and when it ends."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Finished

from rig.cli import run as running
from rig.cli.run import Notifier
from rig.core.events import RunStarted, Speed, TurnFinished, Where
from rig.store import Runs

ORACLE = ("run", "oracle", "--limit", "1", "--display", "plain")


class _Terminal(io.StringIO):
    """A terminal whose file is a pipe."""

    def __init__(self, write: int) -> None:
        super().__init__()
        self._write = write

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._write


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Stands in for stderr; a call says what was written."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    monkeypatch.setattr(running, "sys", SimpleNamespace(stderr=_Terminal(write), stdout=sys.stdout))
    monkeypatch.setenv("TERM", "xterm")

    def written() -> str:
        try:
            return os.read(read, 1 << 16).decode()
        except BlockingIOError:
            return ""

    yield written
    os.close(read)
    os.close(write)


class _Talk:
    name, turns = "a", 4


def _events() -> list[object]:
    started = RunStarted("abcde", "x", ("arm",), (_Talk(),))  # type: ignore[arg-type]
    turns = [TurnFinished(Where(0, "a"), turn, {}, Speed()) for turn in range(4)]
    return [started, *turns]


def test_the_title_says_how_far_a_run_is_and_is_given_back(terminal: Callable[[], str]) -> None:
    told = Notifier()
    with told.titles(is_wanted=True):
        for event in _events():
            told.tell(event)  # type: ignore[arg-type]
    written = terminal()
    assert written.startswith("\x1b[22;0t\x1b]2;rig 0% of 4 turns\x07")
    assert [f"rig {percent}% of 4 turns" in written for percent in (25, 50, 75, 100)] == [True] * 4
    assert written.endswith("\x1b[23;0t")


@pytest.mark.parametrize("case", ["not wanted", "dumb"])
def test_nothing_is_written_where_nobody_can_read_it(
    case: str, terminal: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    told = Notifier()
    with told.titles(is_wanted=case == "dumb"):
        for event in _events():
            told.tell(event)  # type: ignore[arg-type]
    assert terminal() == ""


@pytest.mark.parametrize(("lasts", "bell", "rings"), [(90, True, True), (90, False, False), (5, True, False)])
def test_the_bell_rings_after_a_long_run(
    lasts: int,
    bell: bool,
    rings: bool,
    terminal: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    stored: Path,
) -> None:
    clock = iter([0.0, float(lasts), float(lasts)])
    monkeypatch.setattr(running, "monotonic", lambda: next(clock))
    told = Notifier(bell=bell)
    with told.titles(is_wanted=True):
        pass
    terminal()
    with Runs.open(stored) as runs:
        run = runs.get("latest")
    assert told.ended(run) is None
    expected = f"\x07\x1b]9;rig: run {run.id} finished: oracle 100.0%\x1b\\"
    assert terminal() == (expected if rings else "")


@pytest.fixture
def stored(rig: Callable[..., Finished]) -> Path:
    assert rig("run", "oracle", "--limit", 1, "--display", "none").code == 0
    return Path(os.environ["RIG_RUNS"])


def test_a_command_is_told_of_the_end(tmp_path: Path, rig: Callable[..., Finished]) -> None:
    place = tmp_path / "told"
    done = rig(*ORACLE, "--notify", f'echo "$RIG_STATE: $RIG_SUMMARY" > {place}')
    assert done.code == 0
    run = done.out.split(":")[0].split()[1]
    assert place.read_text() == f"finished: rig: run {run} finished: oracle 100.0%\n"


def test_a_command_that_fails_is_a_line_and_the_run_stands(rig: Callable[..., Finished]) -> None:
    done = rig(*ORACLE, "--notify", "exit 3")
    assert done.code == 0
    assert "rig: --notify: exit 3: exit code 3" in done.err


def test_a_command_that_never_ends_is_ended(
    monkeypatch: pytest.MonkeyPatch, rig: Callable[..., Finished]
) -> None:
    monkeypatch.setattr(running, "_PATIENCE_S", 0.2)
    assert "took longer than 0.2 s" in rig(*ORACLE, "--notify", "exec sleep 30").err


def test_a_name_cannot_speak_to_the_terminal_or_the_shell(
    tmp_path: Path, rig: Callable[..., Finished]
) -> None:
    name = "\x1b]2;evil\x07$(touch evil)"
    done = rig(*ORACLE, "--name", name, "--notify", f"cd {tmp_path}; echo $RIG_SUMMARY")
    assert "\x1b" not in done.err
    assert list(tmp_path.iterdir()) == []
