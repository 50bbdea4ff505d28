"""A toolbox: tools that belong together, the world they act in, and the simulator that executes calls."""

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType

from rig.config.schemes import FILE, LIVE, Scheme, ServerUse, scheme_of
from rig.core import registry
from rig.core.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.core.errors import RigError, did_you_mean
from rig.core.models import ToolDoc
from rig.world.rules import TrueCall
from rig.world.schemas import check, check_names
from rig.world.spec import Stuck, Text, Tool, ToolError, Unavailable, quoted
from rig.world.world import Snapshot, World

LEFT_OUT = "tools_left_out"
"""The name in a toolbox's fingerprint of the lines on tools that could not be read."""


class Toolbox:
    """Tools and everything that others need to know of them. Raises RigError if two have the same name.

    `new_world` makes an empty world. `open_world` makes one that tasks start from: the default one if given
    None, else the one at a path. `fill_world` puts what a task brings along into an empty world. `suites` are
    folders of tasks that come with the toolbox; `texts` are kinds of free text beside those of the tools'
    arguments. `sha256` is its hash, if that covers more than its tools. `fingerprint` holds what else can
    change an answer, as flat JSON values. `left_out` has a line on each tool that could not be read. With
    `ignores_extras`, arguments that a true call does not name may have any value, as ToolTalk has it.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[Tool],
        *,
        new_world: Callable[[], World] = World,
        open_world: Callable[[Path | None], World] | None = None,
        fill_world: Callable[[World, JsonObject], None] | None = None,
        suites: tuple[Path, ...] = (),
        texts: tuple[Text, ...] = (),
        sha256: str = "",
        fingerprint: Mapping[str, Json] | None = None,
        ignores_extras: bool = False,
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.ignores_extras = ignores_extras
        self.left_out = left_out
        self.fingerprint = {**(fingerprint or {}), **({LEFT_OUT: "; ".join(left_out)} if left_out else {})}
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
        self._fill_world = fill_world

    def world(self, place: Path | None = None) -> World:
        """Return a world that tasks can start from. Raises RigError if there is none at this place."""
        if self._open_world is not None:
            return self._open_world(place)
        if place is not None:
            raise RigError(f"{place}: the tools of {self.name} have no worlds of files; leave it out")
        return self.new_world()

    def own_world(self, seeds: JsonObject) -> World:
        """Return a world with only what a task brings along. Raises RigError for what does not fit."""
        if self._fill_world is None:
            raise RigError(f"the worlds of {self.name} are not made of files; leave out `world`")
        world = self.new_world()
        self._fill_world(world, seeds)
        return world

    def is_action(self, name: str) -> bool:
        """Return whether the tool of this name changes the world; false for one that does not exist."""
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

    def docs(self, names: Collection[str] | None = None, *, descriptions: bool = True) -> tuple[ToolDoc, ...]:
        """Return the documentation of the named tools (all when None), always in the order of `tools`.

        Without descriptions the names, types and what is required remain (ToolTalk, section 4.3). Raises
        RigError for names that no tool has.
        """
        unknown = [name for name in names or () if name not in self.tools]
        if unknown:
            raise RigError(f"no tool is named {', '.join(unknown)}")
        tools = [tool for tool in self.tools.values() if names is None or tool.name in names]
        docs = []
        for tool in tools:
            if descriptions:
                docs.append(ToolDoc(tool.name, tool.description, tool.parameters, tool.returns))
                continue
            properties = tool.parameters["properties"].items()
            bare = {name: {**schema, "description": ""} for name, schema in properties}
            docs.append(ToolDoc(tool.name, "", {**tool.parameters, "properties": bare}))
        return tuple(docs)

    @cached_property
    def sha256(self) -> str:
        """A hash of what can change an answer besides the world's content: declarations and code.

        It covers the whole file of a tool's code, since a tool can call whatever else is in there. A hash
        that was passed to the toolbox takes precedence.
        """
        if self._sha256:
            return self._sha256
        files = {inspect.getsourcefile(tool.function) for tool in self.tools.values()}
        code = sorted(Path(file).read_text(encoding="utf-8") for file in files if file)
        docs = [asdict(doc) for doc in self.docs()]
        content = json.dumps([self.name, docs, self.new_world.__qualname__, code])
        return hashlib.sha256(content.encode()).hexdigest()


FAILURES: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "Timeout: there was no answer within 30 seconds, and nothing was done.",
        "server": "HTTP 500: an internal error of the server; nothing was done.",
        "rate": "HTTP 429: too many requests at the moment; nothing was done.",
        "malformed": 'The answer cannot be read ({"response": {"sta); nothing was done.',
        "stale": "HTTP 409: an id in this call is stale at the moment; nothing was done.",
    }
)
"""The exceptions of calls that a dial makes fail (`rig.plugins.stress.tool_errors`). These calls never reach
the world, and count for nothing.
"""


def is_declared(executed: ExecutedCall) -> bool:
    """Return whether a call failed because a dial made it fail."""
    return executed.exception in FAILURES.values()


_LONGEST_ERROR = 500


class Simulator:
    """Executes calls of a toolbox in a world and keeps track of who is logged in.

    By default, it checks arguments against the tool's schema, a failed call leaves the world as it was, and
    what upstream forgets is fixed (a verification code can be used once). With `upstream_compat`, it accepts
    any JSON wherever ToolTalk accepts it, and a call that fails half way leaves behind what it had written.
    """

    def __init__(self, world: World, toolbox: Toolbox, *, upstream_compat: bool = False) -> None:
        """Take over `world`; what it holds now is what every task starts from."""
        self.toolbox = toolbox
        self.world = world
        self._base = world.snapshot()
        self._compat = upstream_compat

    def twin(self) -> "Simulator":
        """Return another simulator of the same base world, independent of this one."""
        world = self.toolbox.new_world()
        world.restore(self._base)
        return Simulator(world, self.toolbox, upstream_compat=self._compat)

    def start(
        self,
        now: datetime,
        username: str = "",
        credentials: Mapping[str, Json] | None = None,
        seeds: JsonObject | None = None,
        recorded: Iterable[TrueCall] = (),
    ) -> None:
        """Begin a task: restore the base world, set the task's clock, and give its user what they begin with.

        With `seeds`, the task has its own world instead of the base world. `recorded` are its true calls with
        their outcomes. Raises RigError if no such user can be given anything, and for bad seeds.
        """
        self.world.restore(self._base if seeds is None else self.toolbox.own_world(seeds).snapshot())
        self.world.begin(now, username, credentials)
        self.world.remember(recorded)

    def snapshot(self) -> Snapshot:
        """Return the state of the world, between two calls."""
        return self.world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the world to a state."""
        self.world.restore(snapshot)

    def repeat(self, executed: ExecutedCall) -> ExecutedCall:
        """Execute a call again; one that a dial made fail is returned as it was, and reaches no world."""
        return executed if is_declared(executed) else self.execute(executed.call)

    def execute(self, call: Call) -> ExecutedCall:
        """Execute a call. Whatever a model wrote, the result is a response or an error text."""
        tool = self.toolbox.tools.get(call.name)
        token = self.world.session_token
        username = self.world.username
        arguments = call.arguments
        if tool is not None and token is not None and isinstance(arguments, dict):
            arguments = {**arguments, **dict.fromkeys(tool.injected, token)}
        executed = Call(call.name, arguments)
        try:
            return ExecutedCall(executed, Outcome(self._respond(tool, executed, username)), username)
        except ToolError as error:
            text = error.upstream if self._compat else str(error)
            return ExecutedCall(executed, Outcome(exception=quoted(text, _LONGEST_ERROR)), username)

    def _respond(self, tool: Tool | None, call: Call, username: str | None) -> Json:
        """Return what the tool answers. Raises ToolError; the checks and their order are ToolTalk's."""
        arguments = call.arguments
        if arguments is None:
            raise ToolError("The arguments are not valid JSON.", "Failed to parse API call")
        if tool is None:
            raise ToolError(f"API {quoted(call.name)} not found")
        is_logged_in = self.world.session_token is not None
        if tool.auth and not is_logged_in:
            raise ToolError("User is not logged in")
        if tool.login == "in" and is_logged_in:
            raise ToolError(f"Only one user can be logged in at a time, and {quoted(username)} is.")
        if not isinstance(arguments, dict):
            raise ToolError("The arguments must be a JSON object.")
        arguments = {name: value for name, value in arguments.items() if name not in tool.injected}
        if self._compat:
            check_names(tool, arguments)
        else:
            arguments = check(tool, arguments)
        try:
            with nullcontext() if self._compat else self.world.atomic():
                response = tool.function(self.world, **arguments)
                if tool.amends is not None and not self._compat:
                    tool.amends(self.world, **arguments)
        except Stuck:
            self.world.renew()
            raise
        except (ToolError, MemoryError, Unavailable):
            raise  # no memory and no server are the machine's fault, and none of the call: it may be right
        except Exception as error:
            # A fault of the tool is the outcome of this call, and no reason to end a run of many hours.
            # ToolTalk checks no types, and makes an error of anything that goes wrong inside a tool.
            text = f"{tool.name} failed: {type(error).__name__}: {error}"
            raise ToolError(text, str(error)) from error
        return response


class ToolFolders(Scheme):
    """Toolboxes of folders that are no plugins. What loads them is registered as the scheme `folder`."""

    name = "folder"

    def load(self, place: Path, use: ServerUse) -> Toolbox | None:
        """Return the toolbox of a folder; None if it declares no tools. Raises RigError."""
        raise NotImplementedError

    def hash_of(self, place: Path) -> str | None:
        """Return a hash of what the tools of a folder do, without loading them; None if it declares none."""
        raise NotImplementedError


def tool_folders() -> ToolFolders:
    """Return what loads toolboxes of folders."""
    folders: ToolFolders = registry.registered().schemes[ToolFolders.name]
    return folders


def find_toolbox(text: str | None, use: ServerUse = LIVE) -> Toolbox:
    """Return the toolbox with this name or at this place; None means the first, which is rig's own.

    Its code is run, and its servers are started as `use` says. Raises RigError unless there is exactly one.
    """
    registered: Mapping[str, Toolbox] = registry.registered().toolboxes
    if text is None:
        return next(iter(registered.values()))
    if text in registered:
        return registered[text]
    if (scheme := scheme_of(text)).name != FILE:
        return _of_scheme(scheme, text, use)
    if not Path(text).exists():
        there_are = ", ".join(registered)
        raise RigError(
            f"no toolbox is called {text!r}{did_you_mean(text, registered)}; choose from: {there_are}"
            " (your own: --toolbox DIR, or --toolbox mcp:COMMAND)"
        )
    if (toolbox := tool_folders().load(Path(text), use)) is not None:
        return toolbox
    toolboxes: list[Toolbox] = list(registry.at(text).toolboxes.values())
    if len(toolboxes) != 1:
        raise RigError(f"{text}: registers {len(toolboxes)} toolboxes; --toolbox takes a place with one")
    return toolboxes[0]


@lru_cache(maxsize=8)
def _of_scheme(scheme: Scheme, text: str, use: ServerUse) -> Toolbox:
    toolbox: Toolbox = scheme.toolbox(text, use)
    return toolbox
