"""Ctrl-C before, in and after the command line: no traceback, and nothing said twice."""

import os
import signal
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

AT_IMPORT = """
import builtins, os, signal
plain = builtins.__import__
def interrupted(name, *rest):
    if name == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return plain(name, *rest)
builtins.__import__ = interrupted
"""
AT_EXIT = "import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
BEGIN = "import sys\nfrom rig.__main__ import main\nsys.argv[1:] = ['--version']\nmain()\n"


def _played(code: str, begin: str = BEGIN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code + begin],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        # Where the tests run in the background the shell has SIGINT ignored, which a process would inherit.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize(
    ("code", "is_printed"),
    [
        (AT_IMPORT.format(name="rig.cli"), False),
        (AT_IMPORT.format(name="click"), False),
        (AT_EXIT, True),
    ],
    ids=["at the beginning", "while it is imported", "at the end"],
)
def test_ctrl_c_outside_of_the_command_line_just_ends_it(code: str, is_printed: bool) -> None:
    done = _played(code)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert ("rig, version" in done.stdout) is is_printed


def test_ctrl_c_in_a_verb_ends_it_with_its_code() -> None:
    code = (
        "import os, signal, rig.core.opening as o\no.forget = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = _played(code, BEGIN.replace("'--version'", "'runs'"))
    assert (done.returncode, done.stderr.strip()) == (130, "")


def test_what_is_ignored_stays_ignored() -> None:
    """As for what a shell runs in the background."""
    done = _played("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + AT_EXIT)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_begins_there() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"rig": "rig.__main__:main"}
