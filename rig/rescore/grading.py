"""Which grader scores, and in which world calls are executed again."""

from dataclasses import dataclass
from pathlib import Path

from rig.planning import PACKAGED, Options
from rig.scoring import Grader, Mode, load
from rig.store import GraderInfo, StoredRun
from rig.tools import Simulator
from rig.world import World


@dataclass(frozen=True, slots=True)
class Grading:
    """A mode, a similarity and a world. `world` is a directory of JSON databases, None for rig's own."""

    mode: Mode = "default"
    similarity: str = "minilm"
    world: Path | None = None

    @classmethod
    def of_run(
        cls,
        run: StoredRun,
        mode: Mode | None = None,
        similarity: str | None = None,
        world: Path | None = None,
    ) -> "Grading":
        """As a run was graded, but for what is given."""
        options = Options.from_json(run.settings)
        return cls(mode or options.grader, similarity or options.similarity, world or options.world)

    def grader(self) -> Grader:
        """The grader. Raises RigError when its similarity cannot be had."""
        return Grader(self.mode, load(self.similarity))

    def info(self, grader: Grader) -> GraderInfo:
        """What the store is told of the grader."""
        is_packaged = self.similarity in PACKAGED
        name = self.similarity if is_packaged else str(Path(self.similarity).absolute())
        return GraderInfo(self.mode, grader.version, name)

    def simulator(self) -> Simulator:
        """Where calls are executed again: by ToolTalk's ways if it is graded by them. Raises RigError."""
        world = World.open() if self.world is None else World.from_json_directory(self.world)
        return Simulator(world, upstream_compat=self.mode == "upstream")
