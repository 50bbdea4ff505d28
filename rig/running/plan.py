"""What a run is to do, decided and checked before anything is stored."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rig.calls import JsonObject
from rig.conversations import Conversation
from rig.errors import RigError
from rig.methods.tooltalk.prompt import Settings, offered_tools
from rig.models import Model, Notify
from rig.scoring import Grader
from rig.store import GraderInfo, NewRun
from rig.toolbox.simulator import Simulator
from rig.tooltalk import tool_docs


@dataclass(frozen=True, slots=True)
class Arm:
    """A model to evaluate, and how conversations are put to it.

    `load` is called when the arm's turn comes, with whom to tell what a person should know, and raises
    RigError when it cannot. Arms that follow one another and have the very same `load` share what it loads.
    """

    name: str
    load: Callable[[Notify], Model]
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run needs.

    `recipe` is stored, so that the run can be planned again. `fingerprint` is what shapes the results besides
    model, protocol and grader: the world. With `resume` the run is in the store already.
    """

    run: str
    store: Path
    arms: tuple[Arm, ...]
    conversations: tuple[Conversation, ...]
    simulator: Simulator
    grader: Grader
    grader_info: GraderInfo
    name: str | None = None
    repeats: int = 1
    recipe: JsonObject = field(default_factory=dict)
    fingerprint: JsonObject = field(default_factory=dict)
    resume: bool = False

    def check(self) -> None:
        """Raise RigError if a conversation cannot be played with an arm's settings, or in this world."""
        distinct = dict.fromkeys(arm.settings for arm in self.arms)
        for conversation in self.conversations:
            for settings in distinct:
                offered_tools(conversation, settings)
            try:
                json.dumps(conversation.source, ensure_ascii=False, allow_nan=False).encode()
            except UnicodeEncodeError as error:
                raise RigError(f"{conversation.name!a}: holds text that is not Unicode: {error}") from error
            except ValueError as error:
                # Python reads NaN and Infinity from a file; what is stored must be readable by others.
                raise RigError(f"{conversation.name}: holds a number that is no JSON: {error}") from error
            try:
                tool_docs([call.name for call in conversation.ground_truth])
                self.simulator.start(conversation.user, conversation.metadata)
            except RigError as error:
                raise RigError(f"{conversation.name}: {error}") from error

    def as_new_run(self) -> NewRun:
        """What the store is told of the run at its beginning."""
        return NewRun(
            id=self.run,
            name=self.name,
            settings=self.recipe,
            arms=tuple(arm.name for arm in self.arms),
            conversations=self.conversations,
            repeats=self.repeats,
        )
