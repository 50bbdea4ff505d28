"""Calls executed in the world, as ToolTalk's executor does it."""

from rig.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.conversations import Metadata, User
from rig.errors import RigError
from rig.toolbox.arguments import check, check_names
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.spec import Tool
from rig.tooltalk.registry import TOOLS
from rig.tooltalk.world import Snapshot, World

_LOGS_IN = ("UserLogin", "RegisterUser")
_LOGS_OUT = ("LogoutUser", "DeleteAccount")
_LONGEST_ERROR = 500


class Simulator:
    """Executes calls in a world and keeps track of who is logged in.

    By default arguments are checked against the tool's schema, a failed call leaves the world as it was, and
    a verification code can be used once. With `upstream_compat` any JSON is accepted wherever ToolTalk
    accepts it, a call that fails half way leaves behind what it had written, and codes never wear out.
    """

    def __init__(self, world: World, *, upstream_compat: bool = False) -> None:
        """Take over `world`; what it holds now is what every conversation starts from."""
        self._world = world
        self._base = world.snapshot()
        self._compat = upstream_compat

    def twin(self) -> "Simulator":
        """Another simulator of the same base world, independent of this one."""
        world = World()
        world.restore(self._base)
        return Simulator(world, upstream_compat=self._compat)

    def start(self, user: User, metadata: Metadata) -> None:
        """Begin a conversation: the base world, the conversation's clock, and the user's login.

        Raises RigError when the user is to be logged in, or to have a verification code, without an account.
        """
        self._world.restore(self._base)
        self._world.set_clock(metadata.now)
        given: dict[str, Json] = {
            name: value
            for name in ("session_token", "verification_code")
            if (value := getattr(user, name)) is not None
        }
        if not given:
            return
        account = self._world.accounts.find(user.username)
        if account is None:
            raise RigError(
                f"the world has no account {shown(user.username)}, whom the conversation gives a"
                f" {next(iter(given))}"
            )
        self._world.accounts.change(account, **given)
        self._world.set_session_token(user.session_token)

    def snapshot(self) -> Snapshot:
        """The state between two calls."""
        return self._world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state."""
        self._world.restore(snapshot)

    def execute(self, call: Call) -> ExecutedCall:
        """Execute a call. Whatever a model wrote in it, the result is a response or an error text."""
        tool = TOOLS.get(call.name)
        token = self._world.session_token
        account = self._world.account
        username = None if account is None else str(account.username)
        arguments = call.arguments
        if tool is not None and tool.auth and token is not None and isinstance(arguments, dict):
            arguments = {**arguments, "session_token": token}
        executed = Call(call.name, arguments)
        try:
            return ExecutedCall(executed, Outcome(self._respond(tool, executed, username)), username)
        except ToolError as error:
            text = error.upstream if self._compat else str(error)
            return ExecutedCall(executed, Outcome(exception=shown(text, _LONGEST_ERROR)), username)

    def _respond(self, tool: Tool | None, call: Call, username: str | None) -> Json:
        """What the tool answers. Raises ToolError; the checks and their order are ToolTalk's."""
        arguments = call.arguments
        if arguments is None:
            raise ToolError("The arguments are not valid JSON.", "Failed to parse API call")
        if tool is None:
            raise ToolError(f"API {shown(call.name)} not found")
        if tool.auth and self._world.session_token is None:
            raise ToolError("User is not logged in")
        if tool.name in _LOGS_IN and self._world.session_token is not None:
            raise ToolError(f"Only one user can be logged in at a time, and {shown(username)} is.")
        if not isinstance(arguments, dict):
            raise ToolError("The arguments must be a JSON object.")
        given = {name: value for name, value in arguments.items() if not tool.auth or name != "session_token"}
        response = self._call_upstream(tool, given) if self._compat else self._call(tool, given)
        if tool.name in _LOGS_IN:
            self._world.set_session_token(response["session_token"])
        elif tool.name in _LOGS_OUT:
            self._world.set_session_token(None)
        return response

    def _call(self, tool: Tool, arguments: JsonObject) -> Json:
        checked = check(tool, arguments)
        with self._world.atomic():
            response = tool.function(self._world, **checked)
            if tool.name == "ResetPassword" and (account := self._world.accounts.find(checked["username"])):
                # ToolTalk's verification codes never wear out.
                self._world.accounts.change(account, verification_code=None)
        return response

    def _call_upstream(self, tool: Tool, arguments: JsonObject) -> Json:
        check_names(tool, arguments)
        try:
            return tool.function(self._world, **arguments)
        except ToolError:
            raise
        except Exception as error:
            # ToolTalk checks no types and makes an error outcome of whatever goes wrong inside a tool.
            raise ToolError(str(error)) from error
