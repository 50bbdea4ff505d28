import pytest
import small_world

from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@pytest.fixture
def world() -> ToolTalkWorld:
    return small_world.new_world()
