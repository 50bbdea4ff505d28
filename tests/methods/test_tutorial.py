"""The page on methods is true: its code is run as the page says, from the command line to a report."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "methods.md"


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.slow
def test_the_method_of_the_page_is_run_compared_and_reported(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text("\n\n".join(blocks("python")), encoding="utf-8")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "prices.json").write_text(*blocks("json"), encoding="utf-8")
    [console] = blocks("console")
    printed = ""
    for line in console.splitlines():
        command = shlex.split(line.removeprefix("$ rig "))
        done = subprocess.run(
            [sys.executable, "-m", "rig", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "RIG_CACHE": str(tmp_path / "cache"), "RIG_RUNS": "runs.sqlite"},
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        printed += done.stdout
    for text in ("oracle polite=False", "oracle polite=True", "right prices", "100.0%"):
        assert text in printed
    assert "oracle polite=True" in (tmp_path / "prices.html").read_text(encoding="utf-8")


def test_what_the_page_says_to_override_is_there() -> None:
    from rig.methods import base, episode

    classes = {"Method": base.Method, "Episode": episode.Episode, "Setup": base.Setup}
    named = re.findall(r"`(Method|Episode|Setup)\.(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [f"{owner}.{name}" for owner, name in named if not hasattr(classes[owner], name)] == []


def test_the_page_is_one_page() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) < 900
