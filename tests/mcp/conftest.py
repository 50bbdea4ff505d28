import json
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rig.config.schemes import LIVE, ServerUse
from rig.plugins.mcp.client import McpClient
from rig.world.toolbox import Simulator, find_toolbox

SCRIPT = Path(__file__).parents[1] / "support" / "mcp_server.py"
NOW = datetime.fromisoformat("2025-03-03 09:00:00")

Box = Callable[..., Path]
Play = Callable[..., Simulator]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., McpClient]]:
    """Starts the scripted server, and ends all of them."""
    clients: list[McpClient] = []

    def start(*words: str, seconds: float = 20.0, start_seconds: float = 60.0) -> McpClient:
        command = [sys.executable, str(SCRIPT), *words]
        environment = {"HOME": str(tmp_path / "0" / "home"), "TMPDIR": str(tmp_path)}
        clients.append(McpClient(command, tmp_path, environment, seconds, start_seconds))
        return clients[-1]

    yield start
    for made in clients:
        made.end()


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """A folder with the scripted server; `more` is what else mcp.json says of it."""

    def make(
        name: str = "box",
        args: tuple[str, ...] = (),
        conversations: dict[str, str] | None = None,
        **more: Any,
    ) -> Path:
        place = tmp_path / name
        (place / "data").mkdir(parents=True)
        (place / "data" / "a.txt").write_text("hello\n")
        script = shutil.copyfile(SCRIPT, place / "server.py")
        entry = {"command": sys.executable, "args": [script.name, *args], "state": ["data"], **more}
        (place / "mcp.json").write_text(json.dumps({"mcpServers": {"scripted": entry}}))
        for stem, text in (conversations or {}).items():
            (place / "conversations").mkdir(exist_ok=True)
            (place / "conversations" / f"{stem}.yaml").write_text(text)
        return place

    return make


@pytest.fixture
def play(box: Box) -> Play:
    """Begins a task in a world of a folder's servers; without a folder, in that of the scripted server."""

    def begin(place: Path | None = None, use: ServerUse = LIVE, **more: Any) -> Simulator:
        toolbox = find_toolbox(str(box(**more) if place is None else place), use)
        simulator = Simulator(toolbox.world(), toolbox)
        simulator.start(NOW)
        return simulator

    return begin
