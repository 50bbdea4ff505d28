from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shipped as shipped_files

from rig.plugins.tooltalk.check import DirectoryReport, check_directory
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld

Source = dict[str, Any]


@pytest.fixture
def world() -> ToolTalkWorld:
    """A world of the test's own."""
    return ToolTalkWorld.open()


@pytest.fixture
def shipped() -> Callable[[str], Source]:
    """A shipped easy conversation as JSON, free to be changed."""
    return shipped_files.easy


@pytest.fixture
def checked(tmp_path: Path, world: ToolTalkWorld) -> Callable[..., DirectoryReport]:
    """Writes conversations (JSON or raw text, each under its file's stem) and checks their directory."""

    def check(*sources: Source | str) -> DirectoryReport:
        return check_directory(shipped_files.write(tmp_path / "conversations", *sources), world, TOOLTALK)

    return check
