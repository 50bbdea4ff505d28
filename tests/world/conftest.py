from pathlib import Path

import pytest
import small_world

from rig.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world.new_world(tmp_path / "seed")
