import pytest
import small_world

from rig.plugins.tooltalk_tools.world import World


@pytest.fixture
def world() -> World:
    return small_world.new_world()
