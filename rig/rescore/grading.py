"""Which grader scores, and in which world calls are executed again."""

from dataclasses import dataclass
from pathlib import Path

from rig.running.options import Options
from rig.scoring import Grader, Mode, Named, load
from rig.store import GraderInfo, StoredRun
from rig.toolbox.find import find_toolbox
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox
from rig.toolbox.world import World


@dataclass(frozen=True, slots=True)
class Grading:
    """A mode, a similarity, and what the calls act in: a world of a toolbox.

    `world` is a directory of JSON databases, `toolbox` a name or a place of code; None means rig's own.
    """

    mode: Mode = "default"
    similarity: str = "minilm"
    world: Path | None = None
    toolbox: str | None = None

    @classmethod
    def of_run(
        cls,
        run: StoredRun,
        mode: Mode | None = None,
        similarity: str | None = None,
        threshold: float | None = None,
        world: Path | None = None,
    ) -> "Grading":
        """As a run was graded, but for what is given. Raises RigError for a threshold without sense."""
        options = Options.from_json(run.settings)
        named = Named.parse(similarity or options.similarity).at(threshold)
        return cls(mode or options.grader, str(named), world or options.world, options.toolbox)

    @property
    def tools(self) -> Toolbox:
        """The toolbox. Raises RigError when it cannot be had."""
        return find_toolbox(self.toolbox)

    def grader(self) -> Grader:
        """The grader. Raises RigError when its similarity cannot be had."""
        return Grader(self.mode, load(self.similarity), self.tools)

    def info(self, grader: Grader) -> GraderInfo:
        """What the store is told of the grader."""
        return GraderInfo(self.mode, grader.version, str(Named.parse(self.similarity).absolute))

    def open_world(self) -> World:
        """The world. Raises RigError when it cannot be had."""
        return self.tools.world(self.world)

    def simulator(self, world: World | None = None) -> Simulator:
        """Where calls are executed again: by ToolTalk's ways if it is graded by them. Raises RigError."""
        return Simulator(world or self.open_world(), self.tools, upstream_compat=self.mode == "upstream")
