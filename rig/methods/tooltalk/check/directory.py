"""Checking all conversations of a directory, so that one bad file does not hide the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.conversations import load_conversation
from rig.errors import RigError
from rig.methods.tooltalk.check.annotations import check_annotations
from rig.methods.tooltalk.check.calls import check_calls
from rig.methods.tooltalk.check.faults import Fault
from rig.methods.tooltalk.check.reading import Reading
from rig.methods.tooltalk.check.replay import Difference, Replayed, replayed_calls
from rig.methods.tooltalk.check.rules import SuiteRules, check_rules, quotas
from rig.methods.tooltalk.check.structure import check_structure
from rig.toolbox.simulator import Simulator
from rig.tooltalk import TOOLTALK
from rig.tooltalk.world import World


@dataclass(frozen=True, slots=True)
class Report:
    """What checking a directory found. `quotas` are (what, have, need) where the suite has rules."""

    directory: Path
    conversations: int
    calls: tuple[Replayed, ...]
    faults: tuple[Fault, ...]
    quotas: tuple[tuple[str, int, int], ...] = ()

    @property
    def differences(self) -> dict[Difference, int]:
        """How many recorded responses differ from the simulator's, by class."""
        counts = Counter(each.difference for each in self.calls)
        return {difference: counts[difference] for difference in Difference if counts[difference]}

    @property
    def reproduced(self) -> int:
        """How many recorded responses are exactly the simulator's."""
        return sum(each.difference is None for each in self.calls)

    def as_json(self) -> JsonObject:
        """Counts and faults by name."""
        return {
            "directory": str(self.directory),
            "conversations": self.conversations,
            "calls": len(self.calls),
            "reproduced": self.reproduced,
            "differences": {str(difference): count for difference, count in self.differences.items()},
            "quotas": {what: {"have": have, "need": need} for what, have, need in self.quotas},
            "faults": [fault.as_json() for fault in self.faults],
        }


def check_directory(
    directory: Path, world: World, suite: str = "", rules: SuiteRules | None = None
) -> Report:
    """Check every `*.json` of a directory against a world.

    With `rules` it is also held to what the suite promises, and its annotations are checked. Raises RigError
    when there is no such directory or nothing in it.
    """
    if not directory.is_dir():
        raise RigError(f"{directory}: no such directory of conversations")
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise RigError(f"{directory}: holds no conversation (*.json)")
    faults: list[Fault] = []
    readings: list[Reading] = []
    simulator = Simulator(world, TOOLTALK)
    base = simulator.snapshot()
    for path in paths:
        try:
            conversation = load_conversation(path)
        except RigError as error:
            faults.append(Fault(path.name, "unreadable", str(error).removeprefix(f"{path}: ")))
            continue
        simulator.restore(base)
        faults += check_structure(path, conversation, world)
        faults += check_calls(path.name, conversation)
        if any(call.name not in TOOLTALK.tools for call in conversation.ground_truth):
            continue
        try:
            reading = Reading(conversation, tuple(replayed_calls(conversation, simulator)))
        except RigError as error:
            faults.append(Fault(path.name, "replay", str(error)))
            continue
        readings.append(reading)
        faults += _replay_faults(path.name, reading.calls)
        if rules is not None:
            faults += check_annotations(path.name, reading)
    simulator.restore(base)
    faults += _repeated(readings)
    if rules is not None:
        faults += check_rules(suite, rules, readings)
    return Report(
        directory,
        len(paths),
        tuple(each for reading in readings for each in reading.calls),
        tuple(faults),
        tuple(quotas(rules, readings)) if rules is not None else (),
    )


def _replay_faults(file: str, calls: Sequence[Replayed]) -> Iterator[Fault]:
    for each in calls:
        if each.difference is not None:
            yield Fault(file, "replay", f"{each.difference}: {each.explanation}", each.turn, each.call)
        given, injected = (call.arguments.get("session_token") for call in (each.recorded, each.executed))
        if given != injected:
            text = f"the recorded session_token is {given!r}, the simulator injects {injected!r}"
            yield Fault(file, "token", text, each.turn, each.call)


def _repeated(readings: Sequence[Reading]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for reading in readings:
        conversation = reading.conversation
        for value, kind in ((f"id {conversation.id}", "id"), (f"name {conversation.name}", "name")):
            if value in seen:
                yield Fault(f"{conversation.name}.json", kind, f"the {value} is also that of {seen[value]}")
            seen.setdefault(value, conversation.name)
