import pytest

from rig.tooltalk.world import World


@pytest.fixture
def world() -> World:
    return World.open()
