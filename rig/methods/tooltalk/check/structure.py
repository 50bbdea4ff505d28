"""The shape of one file: what must be there, in which order, and that its parts agree."""

import uuid
from collections.abc import Iterator
from pathlib import Path

from rig import times
from rig.calls import JsonObject
from rig.methods.tooltalk.check.faults import Fault
from rig.methods.tooltalk.conversations import Conversation
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk.world import World

PARTS = (
    "name",
    "conversation_id",
    "suites_used",
    "apis_used",
    "scenario",
    "user",
    "metadata",
    "conversation",
)
"""The parts of a conversation file, in the order in which ours are written."""
_USER_FIELDS = ("email", "phone", "name", "password")


def check_structure(
    path: Path, conversation: Conversation, world: World, toolbox: Toolbox
) -> Iterator[Fault]:
    """Faults of a file that do not need its calls to be executed."""
    source = conversation.source
    file = path.name
    for part in PARTS:
        if part not in source:
            yield Fault(file, "missing", f"there is no {part}")
    if conversation.name != path.stem:
        yield Fault(file, "name", f"the name {conversation.name!r} is not the file's")
    try:
        uuid.UUID(conversation.id)
    except ValueError:
        yield Fault(file, "id", f"conversation_id {conversation.id!r} is not a UUID")
    yield from _turns(file, source)
    yield from _lists(file, conversation, toolbox)
    yield from _login(file, conversation, world, toolbox)
    try:
        canonical = conversation.metadata.now.strftime(times.INSTANT)
    except ValueError:
        canonical = ""
    if conversation.metadata.timestamp != canonical:
        yield Fault(file, "timestamp", f"{conversation.metadata.timestamp!r} is not YYYY-MM-DD HH:MM:SS")


def _turns(file: str, source: JsonObject) -> Iterator[Fault]:
    previous = "assistant"
    for position, turn in enumerate(source["conversation"]):
        role = turn["role"]
        if "index" not in turn:
            yield Fault(file, "index", "the turn has none", position)
        elif turn["index"] is True or turn["index"] != position:
            yield Fault(file, "index", f"it is {turn['index']!r}", position)
        if role == previous:
            text = "the assistant speaks first" if position == 0 else f"the {role} speaks twice in a row"
            yield Fault(file, "role", text, position)
        previous = role
        if not turn["text"].strip():
            yield Fault(file, "text", "nothing is said", position)
        if "apis" in turn and role == "user":
            yield Fault(file, "apis", "a user's turn has calls", position)
        if "apis" in turn and not turn["apis"]:
            yield Fault(file, "apis", "the list of calls is empty; leave it out", position)


def _lists(file: str, conversation: Conversation, toolbox: Toolbox) -> Iterator[Fault]:
    called = {call.name for call in conversation.ground_truth if call.name in toolbox.tools}
    plugins = {toolbox.tools[name].plugin for name in called}
    for part, listed, used in (
        ("apis_used", conversation.tools, called),
        ("suites_used", conversation.plugins, plugins),
    ):
        repeated = sorted({name for name in listed if listed.count(name) > 1})
        missing, unused = sorted(used - set(listed)), sorted(set(listed) - used)
        for names, what in ((repeated, "repeats"), (missing, "lacks"), (unused, "has, unused,")):
            if names:
                yield Fault(file, part, f"the list {what} {', '.join(names)}")


def _login(file: str, conversation: Conversation, world: World, toolbox: Toolbox) -> Iterator[Fault]:
    user, metadata = conversation.user, conversation.metadata
    given = conversation.source["metadata"].get("session_token")
    if user.session_token != given:
        yield Fault(file, "token", f"user has {user.session_token!r}, metadata has {given!r}")
    expected = user.username if user.session_token else None
    if metadata.username != expected:
        yield Fault(file, "token", f"metadata.username is {metadata.username!r}, it should be {expected!r}")
    account = world.accounts.find(user.username)
    if account is None:
        registered = {
            call.arguments.get("username")
            for call in conversation.ground_truth
            if (tool := toolbox.tools.get(call.name)) and tool.login == "in" and call.exception is None
        }
        if user.session_token or user.verification_code or user.username not in registered:
            yield Fault(file, "user", f"{user.username!r} is not in the world and does not register")
        return
    for field in _USER_FIELDS:
        said, known = getattr(user, field), getattr(account, field)
        if said != known:
            yield Fault(file, "user", f"{field} is {said!r}, in the world it is {known!r}")
