import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.methods.tooltalk.check import Report, SuiteRules, check_directory
from rig.paths import CONVERSATIONS
from rig.tooltalk.world import World

Source = dict[str, Any]


@pytest.fixture(scope="session")
def image() -> World:
    return World.open()


@pytest.fixture
def world(image: World) -> World:
    """A world of the test's own."""
    own = World()
    own.restore(image.snapshot())
    return own


@pytest.fixture
def shipped() -> Callable[[str], Source]:
    """A shipped easy conversation as JSON, free to be changed."""

    def read(tool: str) -> Source:
        source: Source = json.loads((CONVERSATIONS / "easy" / f"{tool}-easy.json").read_text("utf-8"))
        return copy.deepcopy(source)

    return read


@pytest.fixture
def checked(tmp_path: Path, world: World) -> Callable[..., Report]:
    """Writes conversations (JSON or raw text, each under its file's stem) and checks their directory."""

    def check(*sources: Source | str, suite: str = "", rules: SuiteRules | None = None) -> Report:
        directory = tmp_path / "conversations"
        directory.mkdir(exist_ok=True)
        for number, source in enumerate(sources):
            stem = f"raw{number}" if isinstance(source, str) else source.pop("__stem__", source["name"])
            text = source if isinstance(source, str) else json.dumps(source)
            (directory / f"{stem}.json").write_text(text, "utf-8")
        return check_directory(directory, world, suite, rules)

    return check
