import pytest

from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@pytest.fixture
def world() -> ToolTalkWorld:
    return ToolTalkWorld.open()
