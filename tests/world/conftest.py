from datetime import datetime
from pathlib import Path

import pytest

from rig.core.registry import at
from rig.world import Simulator, Toolbox


@pytest.fixture
def notes() -> Toolbox:
    """A toolbox from outside: two tools in a folder, with a world of their own."""
    found: Toolbox = at(str(Path(__file__).parent / "notes")).toolboxes["notes"]
    return found


@pytest.fixture
def desk(notes: Toolbox) -> Simulator:
    """Its tools in its world, at the beginning of a task."""
    simulator = Simulator(notes.world(), notes)
    simulator.start(datetime.fromisoformat("2024-03-05 09:00:00"))
    return simulator
