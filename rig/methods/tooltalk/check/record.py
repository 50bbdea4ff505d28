"""Write down what the simulator returns, so that nobody types a response by hand."""

import json
import uuid
from pathlib import Path

from rig.calls import SESSION_TOKEN, JsonObject, without_token
from rig.errors import RigError
from rig.files import read_text, write
from rig.methods.tooltalk.check.faults import PARTS
from rig.methods.tooltalk.check.replay import replayed_calls
from rig.methods.tooltalk.conversations import parse_conversation
from rig.methods.tooltalk.written import SIGNED_IN
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk.world import World


def record_directory(directory: Path, world: World, toolbox: Toolbox) -> list[Path]:
    """Complete every conversation of a directory from the simulator; returns the files that changed.

    The writer gives scenario, user.username, metadata (location, timestamp, and username when the user is
    logged in at the start) and the turns with each call's `request`. Everything else is filled in: names,
    ids, indexes, the account, session tokens, `apis_used`, `suites_used`, responses and exceptions. Raises
    RigError, naming the file, where that cannot be done; the files before it are written by then.
    """
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise RigError(f"{directory}: holds no conversation (*.json)")
    simulator = Simulator(world, toolbox)
    base = simulator.snapshot()
    changed = []
    for path in paths:
        try:
            before = read_text(path)
            source = json.loads(before)
            simulator.restore(base)
            after = json.dumps(_complete(source, path.stem, world, simulator), indent=2, ensure_ascii=False)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RigError(f"{path}: cannot be recorded: {type(error).__name__}: {error}") from error
        if f"{after}\n" != before:
            write(f"{after}\n", path, force=True)
            changed.append(path)
    simulator.restore(base)
    return changed


def _complete(source: JsonObject, name: str, world: World, simulator: Simulator) -> JsonObject:
    source["name"] = name
    source.setdefault("conversation_id", str(uuid.uuid4()))
    user, metadata = source["user"], source["metadata"]
    account = world.accounts.find(user["username"])
    if account is not None:
        user.update({field: getattr(account, field) for field in ("email", "phone", "name", "password")})
    if "username" in metadata:
        user[SESSION_TOKEN] = metadata[SESSION_TOKEN] = SIGNED_IN
    source["conversation"] = [
        {"index": position, **{part: turn[part] for part in turn if part != "index"}}
        for position, turn in enumerate(source["conversation"])
    ]
    conversation = parse_conversation(source, name)
    calls = list(replayed_calls(conversation, simulator))
    tools, used = simulator.toolbox.tools, dict.fromkeys(call.executed.name for call in calls)
    unknown = [name for name in used if name not in tools]
    if unknown:
        raise RigError(f"{name}: no tool is named {', '.join(unknown)}")
    source["apis_used"] = list(used)
    source["suites_used"] = list(dict.fromkeys(tools[tool].plugin for tool in used))
    for call in calls:
        recorded = call.executed.as_json()
        arguments = recorded["request"]["parameters"]
        if SESSION_TOKEN in arguments:
            token = {SESSION_TOKEN: arguments[SESSION_TOKEN]}
            recorded["request"]["parameters"] = {**token, **without_token(arguments)}
        source["conversation"][call.turn]["apis"][call.call] = recorded
    return {part: source[part] for part in (*PARTS, *(part for part in source if part not in PARTS))}
