"""ToolTalk as a method: its suites, its settings, and what a run needs of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.base import Method, Option
from rig.methods.checking import Report
from rig.methods.tooltalk.conversations import (
    OWN,
    Conversation,
    available_suites,
    holds_conversations,
    load_directory,
    parse_conversation,
)
from rig.methods.tooltalk.episode import ToolTalkEpisode
from rig.methods.tooltalk.prompt import ToolTalkSettings, opening
from rig.methods.tooltalk.scoring.metrics import DECLARATION, FORBIDDING
from rig.methods.tooltalk.setup import ToolTalkSetup
from rig.metrics import Declaration
from rig.models import Request
from rig.paths import CONVERSATIONS
from rig.tasks import ASSISTANT
from rig.toolbox.own.find import find_toolbox
from rig.toolbox.own.folder import holds_code, holds_toolbox
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk import TOOLTALK
from rig.tooltalk.registry import open_world


class ToolTalk(Method):
    """A model gets true histories, turn by turn (arXiv 2311.10775)."""

    name = "tooltalk"
    declaration = DECLARATION
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    episode = ToolTalkEpisode
    holds_responses = True
    options: tuple[Option, ...] = (
        Option("docs", "full", several=True),
        Option("tools", "all", several=True),
        Option("history", "recorded", several=True),
        Option("max_calls", 10),
        Option("toolbox", None, opens=True),
        Option("world", None, opens=True),
        Option("grader", "default"),
        Option("similarity", "minilm", opens=True),
        Option("reader", None, opens=True),
    )

    def suites(self) -> Mapping[str, Path]:
        return {name: CONVERSATIONS / name for name in available_suites()}

    def recognises(self, place: Path) -> bool:
        return place.is_dir() and holds_conversations(place)

    def load(self, place: Path) -> Sequence[Conversation]:
        return load_directory(place)

    def parse(self, source: JsonObject, where: str, suite: str) -> Conversation:
        return replace(parse_conversation(source, where), suite=suite)

    def declaration_of(self, tasks: Sequence[Conversation]) -> Declaration:
        """Calls that must not be made are counted where there are any."""
        return FORBIDDING if any(task.terms.forbidden for task in tasks) else DECLARATION

    def check(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Report:
        # Kept from runs, as the paper's tables are: what only these need takes a moment to load.
        from rig.methods.tooltalk.check import check_directory, check_own

        own = _own_toolbox(place, toolbox)
        return check_directory(place, open_world(world), TOOLTALK) if own is None else check_own(place, own)

    def record(self, place: Path, world: Path | None = None, toolbox: str | None = None) -> Sequence[Path]:
        from rig.methods.tooltalk.check import record_directory, record_own

        own = _own_toolbox(place, toolbox)
        return record_directory(place, open_world(world), TOOLTALK) if own is None else record_own(place, own)

    def opening(self, task: Conversation, settings: ToolTalkSettings, role: str) -> Request:
        return opening(task, settings)

    def settings(self, values: Mapping[str, Any]) -> ToolTalkSettings:
        own = {name: values[name] for name in ("docs", "tools", "history", "max_calls")}
        return ToolTalkSettings(**own, toolbox=find_toolbox(values["toolbox"]))

    def ready(self, values: Mapping[str, Any]) -> ToolTalkSetup:
        return ToolTalkSetup.of(self, self.settings(values), values)


METHOD = ToolTalk()


def _own_toolbox(place: Path, toolbox: str | None) -> Toolbox | None:
    """The toolbox that conversations are for, None for ToolTalk's; a folder's own where it is data alone.

    Raises RigError if it is code that nobody named.
    """
    if toolbox is not None:
        named = find_toolbox(toolbox)
        return None if named is TOOLTALK else named
    for folder in (place, place.parent):
        if holds_toolbox(folder) and (folder is place or place.name == OWN):
            if holds_code(folder):
                raise RigError(
                    f"{folder}: its tools are code, which is run when you name it: --toolbox {folder}"
                )
            return find_toolbox(str(folder))
    return None
