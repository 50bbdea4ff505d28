"""All conversations of a directory, checked so that one bad file does not hide the others.

What the simulator returns can be written down, so that nobody types a response by hand.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.calls import SESSION_TOKEN, JsonObject, without_token
from rig.errors import RigError, counted
from rig.files import read_text, write
from rig.methods.tooltalk.check.faults import PARTS, Defect, FileCheck
from rig.methods.tooltalk.check.replay import Replayed, ResponseDifference, replayed_calls
from rig.methods.tooltalk.conversations import Conversation, load_conversation, parse_conversation
from rig.methods.tooltalk.written import SIGNED_IN
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk.world import World


@dataclass(frozen=True, slots=True)
class DirectoryReport:
    """What checking a directory found. `conversations` counts its files, `replayed` has those that run."""

    directory: Path
    conversations: int
    replayed: tuple[tuple[Conversation, tuple[Replayed, ...]], ...]
    faults: tuple[Defect, ...]

    @property
    def calls(self) -> tuple[Replayed, ...]:
        """Every ground-truth call that was executed."""
        return tuple(call for _, calls in self.replayed for call in calls)

    @property
    def differences(self) -> dict[ResponseDifference, int]:
        """How many recorded responses differ from the simulator's, by class."""
        counts = Counter(call.difference for call in self.calls)
        return {difference: counts[difference] for difference in ResponseDifference if counts[difference]}

    @property
    def reproduced(self) -> int:
        """How many recorded responses are exactly the simulator's."""
        return sum(call.difference is None for call in self.calls)

    @property
    def summary(self) -> tuple[str, ...]:
        """What was checked, and how many responses differ in which way."""
        return (
            f"{self.directory}: {counted(self.conversations, 'conversation')},"
            f" {counted(len(self.calls), 'call')}, {counted(self.reproduced, 'response')} reproduced,"
            f" {counted(len(self.faults), 'fault', 'no')}",
            *(f"  {difference}: {count}" for difference, count in self.differences.items()),
        )

    def as_json(self) -> JsonObject:
        """Counts and faults by name."""
        return {
            "directory": str(self.directory),
            "conversations": self.conversations,
            "calls": len(self.calls),
            "reproduced": self.reproduced,
            "differences": {str(difference): count for difference, count in self.differences.items()},
            "faults": [fault.as_json() for fault in self.faults],
        }


def check_directory(directory: Path, world: World, toolbox: Toolbox) -> DirectoryReport:
    """Check every `*.json` of a directory against a world and the tools that act in it.

    Raises RigError when there is no such directory or nothing in it.
    """
    if not directory.is_dir():
        raise RigError(f"{directory}: no such directory of conversations")
    paths = _files(directory)
    faults: list[Defect] = []
    replayed: list[tuple[Conversation, tuple[Replayed, ...]]] = []
    simulator = Simulator(world, toolbox)
    base = simulator.snapshot()
    for path in paths:
        try:
            conversation = load_conversation(path)
        except RigError as error:
            faults.append(Defect(path.name, "unreadable", str(error).removeprefix(f"{path}: ")))
            continue
        simulator.restore(base)
        file = FileCheck(path, conversation, world, toolbox)
        faults += file.faults()
        if any(call.name not in toolbox.tools for call in conversation.ground_truth):
            continue
        try:
            calls = tuple(replayed_calls(conversation, simulator))
        except RigError as error:
            faults.append(file.fault("replay", str(error)))
            continue
        replayed.append((conversation, calls))
        faults += _replay_faults(file, calls, toolbox)
    simulator.restore(base)
    faults += _repeated([conversation for conversation, _ in replayed])
    return DirectoryReport(directory, len(paths), tuple(replayed), tuple(faults))


def _files(directory: Path) -> list[Path]:
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise RigError(f"{directory}: holds no conversation (*.json)")
    return paths


def _replay_faults(file: FileCheck, calls: Sequence[Replayed], toolbox: Toolbox) -> Iterator[Defect]:
    for call in calls:
        if call.difference is not None:
            yield file.fault("replay", f"{call.difference}: {call.explanation}", call.turn, call.call)
        for name in sorted(toolbox.injected):
            recorded, injected = call.recorded.arguments.get(name), call.executed.arguments.get(name)
            if recorded != injected:
                text = f"the recorded {name} is {recorded!r}, the simulator injects {injected!r}"
                yield file.fault("token", text, call.turn, call.call)


def _repeated(conversations: Sequence[Conversation]) -> Iterator[Defect]:
    seen: dict[str, str] = {}
    for conversation in conversations:
        for value, kind in ((f"id {conversation.id}", "id"), (f"name {conversation.name}", "name")):
            if value in seen:
                yield Defect(f"{conversation.name}.json", kind, f"the {value} is also that of {seen[value]}")
            seen.setdefault(value, conversation.name)


def record_directory(directory: Path, world: World, toolbox: Toolbox) -> list[Path]:
    """Complete every conversation of a directory from the simulator; returns the files that changed.

    The writer gives scenario, user.username, metadata (location, timestamp, and username when the user is
    logged in at the start) and the turns with each call's `request`. Everything else is filled in: names,
    ids, indexes, the account, session tokens, `apis_used`, `suites_used`, responses and exceptions. Raises
    RigError, naming the file, where that cannot be done; the files before it are written by then.
    """
    paths = _files(directory)
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
