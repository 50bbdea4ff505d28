"""Execute calls in the world, as ToolTalk's executor does."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from datetime import datetime

from rig.calls import Call, ExecutedCall, Json, Outcome
from rig.toolbox.arguments import check, check_names
from rig.toolbox.content import Differences, compare, drawn_values
from rig.toolbox.diff import WorldDiff, diff
from rig.toolbox.errors import Stuck, ToolError, quoted
from rig.toolbox.rules import TrueCall
from rig.toolbox.spec import Tool
from rig.toolbox.toolbox import Toolbox
from rig.toolbox.world import Snapshot, World

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
        self._world = world
        self._base = world.snapshot()
        self._compat = upstream_compat

    def twin(self) -> "Simulator":
        """Another simulator of the same base world, independent of this one."""
        world = self.toolbox.new_world()
        world.restore(self._base)
        return Simulator(world, self.toolbox, upstream_compat=self._compat)

    def start(
        self,
        now: datetime,
        username: str = "",
        credentials: Mapping[str, Json] | None = None,
        recorded: Iterable[TrueCall] = (),
    ) -> None:
        """Begin a task: the base world, the task's clock, and what its user is given, a login first of all.

        `recorded` are its true calls with what came of them. Raises RigError when the world has nobody of
        that name to be given anything.
        """
        self._world.restore(self._base)
        self._world.begin(now, username, credentials)
        self._world.remember(recorded)

    def snapshot(self) -> Snapshot:
        """The state between two calls."""
        return self._world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state."""
        self._world.restore(snapshot)

    def compare(self, expected: Snapshot, got: Snapshot) -> Differences:
        """How a world differs from the expected one in what it holds, ids aside."""
        return compare(expected, got, self._world.tables)

    def drawn(self, snapshot: Snapshot) -> frozenset[str]:
        """The ids and tokens that a world holds."""
        return drawn_values(snapshot, self._world.tables)

    def diff(self, before: Snapshot, after: Snapshot) -> WorldDiff:
        """The difference between two states of the world."""
        return diff(before, after, self._world.tables)

    def execute(self, call: Call) -> ExecutedCall:
        """Execute a call. For anything that a model wrote, the result is a response or an error text."""
        tool = self.toolbox.tools.get(call.name)
        token = self._world.session_token
        username = self._world.username
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
        """What the tool answers. Raises ToolError; the checks and their order are ToolTalk's."""
        arguments = call.arguments
        if arguments is None:
            raise ToolError("The arguments are not valid JSON.", "Failed to parse API call")
        if tool is None:
            raise ToolError(f"API {quoted(call.name)} not found")
        is_logged_in = self._world.session_token is not None
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
            with nullcontext() if self._compat else self._world.atomic():
                response = tool.function(self._world, **arguments)
                if tool.amends is not None and not self._compat:
                    tool.amends(self._world, **arguments)
        except Stuck:
            self._world.renew()
            raise
        except (ToolError, MemoryError):
            raise  # memory is the machine's fault, and none of the call: with more of it, it may be right
        except Exception as error:
            # A fault of the tool is the outcome of this call, and no reason to end a run of many hours.
            # ToolTalk checks no types, and makes an error of anything that goes wrong inside a tool.
            text = f"{tool.name} failed: {type(error).__name__}: {error}"
            raise ToolError(text, str(error)) from error
        return response
