"""A toolbox: tools that belong together, and the world they act in."""

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from rig.errors import RigError
from rig.models import ToolDoc
from rig.toolbox.rules import Rule
from rig.toolbox.spec import Text, Tool
from rig.toolbox.world import World


class Toolbox:
    """Everything that others have to know of some tools. Raises RigError if two have the same name.

    `new_world` makes an empty world; `open_world` makes one to begin with, as it ships when it is given None,
    else from what lies at a path. `suites` are the folders of tasks that come with it, `texts` are kinds of
    free text beside those that arguments of tools are. `sha256` is its hash, where that is to be known of
    more than its tools.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[Tool],
        *,
        new_world: Callable[[], World] = World,
        open_world: Callable[[Path | None], World] | None = None,
        suites: tuple[Path, ...] = (),
        texts: tuple[Text, ...] = (),
        sha256: str = "",
    ) -> None:
        self.name = name
        self._texts = texts
        self._sha256 = sha256
        by_name: dict[str, Tool] = {}
        for tool in tools:
            if by_name.setdefault(tool.name, tool) is not tool:
                raise RigError(f"the toolbox {name} has two tools named {tool.name}")
        self.tools: Mapping[str, Tool] = MappingProxyType(by_name)
        self.new_world = new_world
        self.suites = suites
        self._open_world = open_world

    def world(self, place: Path | None = None) -> World:
        """A world to begin with. Raises RigError if there is none at this place."""
        if self._open_world is not None:
            return self._open_world(place)
        if place is not None:
            raise RigError(f"{place}: the tools of {self.name} have no worlds of files; leave it out")
        return self.new_world()

    def is_action(self, name: str) -> bool:
        """Whether a tool of this name changes the world. A tool that does not exist changes nothing."""
        return name in self.tools and self.tools[name].action

    @cached_property
    def plugins(self) -> tuple[str, ...]:
        """The plugins that the tools belong to, in order."""
        return tuple(dict.fromkeys(tool.plugin for tool in self.tools.values()))

    @cached_property
    def injected(self) -> frozenset[str]:
        """The arguments that no model writes."""
        return frozenset(name for tool in self.tools.values() for name in tool.injected)

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The kinds of free text that arguments of the tools hold."""
        every = (how for tool in self.tools.values() for how in tool.match.arguments.values())
        return tuple(dict.fromkeys([*self._texts, *(how for how in every if isinstance(how, Text))]))

    @cached_property
    def rules_sha256(self) -> str:
        """A hash of the rules by which arguments of its tools are compared; empty if it has none."""
        rules = {
            f"{tool.name}.{name}": rule.as_json()
            for tool in self.tools.values()
            for name, rule in tool.match.arguments.items()
            if isinstance(rule, Rule)
        }
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest() if rules else ""

    def docs(self, names: Collection[str] | None = None, *, descriptions: bool = True) -> tuple[ToolDoc, ...]:
        """The documentation of the named tools (all when None), always in the order of `tools`.

        Without descriptions the names, types and what is required remain (ToolTalk, section 4.3). Raises
        RigError for names that no tool has.
        """
        unknown = [name for name in names or () if name not in self.tools]
        if unknown:
            raise RigError(f"no tool is named {', '.join(unknown)}")
        tools = [tool for tool in self.tools.values() if names is None or tool.name in names]
        if descriptions:
            return tuple(
                ToolDoc(tool.name, tool.description, tool.parameters, tool.returns) for tool in tools
            )
        docs = []
        for tool in tools:
            properties = tool.parameters["properties"].items()
            bare = {name: {**schema, "description": ""} for name, schema in properties}
            docs.append(ToolDoc(tool.name, "", {**tool.parameters, "properties": bare}))
        return tuple(docs)

    @cached_property
    def sha256(self) -> str:
        """A hash of what can change an answer besides the world's content: declarations and code.

        Of a tool's code it is the whole file, since a tool can call whatever else is in there. Whoever made
        the toolbox may have said it.
        """
        if self._sha256:
            return self._sha256
        files = {inspect.getsourcefile(tool.function) for tool in self.tools.values()}
        code = sorted(Path(file).read_text(encoding="utf-8") for file in files if file)
        docs = [asdict(doc) for doc in self.docs()]
        told = json.dumps([self.name, docs, self.new_world.__qualname__, code])
        return hashlib.sha256(told.encode()).hexdigest()
