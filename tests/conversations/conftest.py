import pytest

from rig.plugins.tooltalk_tools.world import World


@pytest.fixture
def world() -> World:
    return World.open()
