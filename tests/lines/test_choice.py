"""Which display is taken, and how Ctrl-C works in those that own the main thread."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest

from rig import show
from rig.plugins.lines.displays import LogDisplay, PlainDisplay
from rig.running.control import Control
from rig.show import is_interactive
from rig.show.base import NoDisplay


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "stdout", "term", "interactive"),
    [
        (Terminal(), Terminal(), "xterm-256color", True),
        (io.StringIO(), Terminal(), "xterm", False),
        (Terminal(), io.StringIO(), "xterm", False),
        (Terminal(), Terminal(), "dumb", False),
        (Terminal(), Terminal(), None, False),
    ],
)
def test_auto_takes_the_terminal_application_only_where_it_can_work(
    monkeypatch: pytest.MonkeyPatch,
    stdin: io.StringIO,
    stdout: io.StringIO,
    term: str | None,
    interactive: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stderr", Terminal())
    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    assert is_interactive(stdout) is interactive
    chosen = show.choose("auto", stdout)
    assert isinstance(chosen, PlainDisplay) is not interactive


@pytest.mark.parametrize(
    ("name", "kind"), [("plain", PlainDisplay), ("log", LogDisplay), ("none", NoDisplay)]
)
def test_a_display_can_be_named(name: str, kind: type) -> None:
    assert isinstance(show.choose(name, io.StringIO()), kind)


@pytest.mark.parametrize("name", ["plain", "log", "none"])
def test_the_job_runs_in_the_display_and_its_result_or_fault_comes_back(name: str) -> None:
    display = show.choose(name, io.StringIO())
    assert display.run(lambda emit: 42, Control()) == 42
    with pytest.raises(ZeroDivisionError):
        display.run(lambda emit: 1 // 0, Control())


def test_the_first_interrupt_asks_to_stop_and_the_handler_goes_when_the_job_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    control = Control()
    before = signal.getsignal(signal.SIGINT)

    def job(emit: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            if control.is_stopped:
                break
            time.sleep(0.01)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        return control.is_stopped

    assert NoDisplay().run(job, control)
    assert "Ctrl-C again to kill" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_interrupt_kills() -> None:
    script = (
        "import os, signal, time\n"
        "from rig.running.control import Control\n"
        "from rig.show.base import NoDisplay\n"
        "def job(emit):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(30)\n"
        "NoDisplay().run(job, Control())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGINT
