"""Checking all conversations of a directory, so that one bad file does not hide the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.tooltalk.check.faults import Fault, FileCheck
from rig.methods.tooltalk.check.replay import Difference, Replayed, replayed_calls
from rig.methods.tooltalk.conversations import Conversation, load_conversation
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk.world import World
from rig.words import counted


@dataclass(frozen=True, slots=True)
class Report:
    """What checking a directory found. `conversations` counts its files, `replayed` has those that run."""

    directory: Path
    conversations: int
    replayed: tuple[tuple[Conversation, tuple[Replayed, ...]], ...]
    faults: tuple[Fault, ...]

    @property
    def calls(self) -> tuple[Replayed, ...]:
        """Every ground-truth call that was executed."""
        return tuple(call for _, calls in self.replayed for call in calls)

    @property
    def differences(self) -> dict[Difference, int]:
        """How many recorded responses differ from the simulator's, by class."""
        counts = Counter(call.difference for call in self.calls)
        return {difference: counts[difference] for difference in Difference if counts[difference]}

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


def check_directory(directory: Path, world: World, toolbox: Toolbox) -> Report:
    """Check every `*.json` of a directory against a world and the tools that act in it.

    Raises RigError when there is no such directory or nothing in it.
    """
    if not directory.is_dir():
        raise RigError(f"{directory}: no such directory of conversations")
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise RigError(f"{directory}: holds no conversation (*.json)")
    faults: list[Fault] = []
    replayed: list[tuple[Conversation, tuple[Replayed, ...]]] = []
    simulator = Simulator(world, toolbox)
    base = simulator.snapshot()
    for path in paths:
        try:
            conversation = load_conversation(path)
        except RigError as error:
            faults.append(Fault(path.name, "unreadable", str(error).removeprefix(f"{path}: ")))
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
    return Report(directory, len(paths), tuple(replayed), tuple(faults))


def _replay_faults(file: FileCheck, calls: Sequence[Replayed], toolbox: Toolbox) -> Iterator[Fault]:
    for call in calls:
        if call.difference is not None:
            yield file.fault("replay", f"{call.difference}: {call.explanation}", call.turn, call.call)
        for name in sorted(toolbox.injected):
            recorded, injected = call.recorded.arguments.get(name), call.executed.arguments.get(name)
            if recorded != injected:
                text = f"the recorded {name} is {recorded!r}, the simulator injects {injected!r}"
                yield file.fault("token", text, call.turn, call.call)


def _repeated(conversations: Sequence[Conversation]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for conversation in conversations:
        for value, kind in ((f"id {conversation.id}", "id"), (f"name {conversation.name}", "name")):
            if value in seen:
                yield Fault(f"{conversation.name}.json", kind, f"the {value} is also that of {seen[value]}")
            seen.setdefault(value, conversation.name)
