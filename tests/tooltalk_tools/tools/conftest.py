import pytest
import small_world

from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator


@pytest.fixture
def world() -> ToolTalkWorld:
    return small_world.new_world()


@pytest.fixture(params=[False, True], ids=["default", "upstream"])
def both(request: pytest.FixtureRequest, world: ToolTalkWorld) -> Simulator:
    """A simulator in which mara is logged in, in one mode and then in the other."""
    simulator = Simulator(world, TOOLTALK, upstream_compat=request.param)
    small_world.log_in(simulator)
    return simulator


@pytest.fixture
def default(world: ToolTalkWorld) -> Simulator:
    simulator = Simulator(world, TOOLTALK)
    small_world.log_in(simulator)
    return simulator


@pytest.fixture
def upstream() -> Simulator:
    simulator = Simulator(small_world.new_world(), TOOLTALK, upstream_compat=True)
    small_world.log_in(simulator)
    return simulator
