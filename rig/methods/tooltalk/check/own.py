"""Conversations for your own tools: whether each call can be made, and returns what is written."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rig.calls import ExecutedCall
from rig.errors import RigError
from rig.methods.checking import Checked
from rig.methods.tooltalk.conversations import Conversation, files_of, is_in_tooltalks_shape, load_file
from rig.methods.tooltalk.replay import replay
from rig.methods.tooltalk.written import call_parts, conversation_parts, turn_parts
from rig.scoring import reasons
from rig.tasks import turn_number
from rig.toolbox.arguments import is_refusal, refused
from rig.toolbox.own.functions import Function
from rig.toolbox.rules import TrueCall
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox


class MadeCall(NamedTuple):
    """A true call, where it is written, and its outcome now."""

    place: str
    truth: TrueCall
    executed: ExecutedCall

    def fits(self, toolbox: Toolbox) -> bool:
        """Whether there is such a tool, and its schema takes the arguments."""
        tool = toolbox.tools.get(self.truth.name)
        return tool is not None and refused(tool, self.truth.arguments) is None


def check_own(place: Path, toolbox: Toolbox) -> Checked:
    """Check every conversation of a folder against its tools. Raises RigError if there are none."""
    faults: list[str] = []
    seen: dict[str, Path] = {}
    simulator = Simulator(toolbox.world(), toolbox)
    for path in files_of(place):
        try:
            conversations = load_file(path)
            places = call_places(path, conversations)
        except RigError as error:
            faults.append(str(error))
            continue
        for conversation, where in zip(conversations, places, strict=True):
            if conversation.name in seen:
                other = seen[conversation.name]
                faults.append(f"{path}: {conversation.name} is the name of one in {other}, too")
            seen[conversation.name] = path
            faults += _faults(path, conversation, where, simulator)
    faults += _of_code(toolbox)
    return Checked(place, len(seen), tuple(faults))


def call_places(path: Path, conversations: list[Conversation]) -> list[list[str]]:
    """Where each true call of each conversation of a file is written."""
    if is_in_tooltalks_shape(path):
        return [
            [
                f"{path}: turn {turn_number(conversation, turn)} call {call + 1}"
                for turn, call in conversation.ground_truth_positions()
            ]
            for conversation in conversations
        ]
    return [
        [call.place for turn in turn_parts(part) for call in call_parts(turn)]
        for part in conversation_parts(path)
    ]


def made_calls(conversation: Conversation, places: list[str], simulator: Simulator) -> Iterator[MadeCall]:
    """Every true call, made in turn."""
    left = iter(places)
    for true in replay(conversation, simulator):
        for truth, executed in zip(true.turn.calls, true.calls, strict=True):
            yield MadeCall(next(left), truth, executed)


def _faults(path: Path, conversation: Conversation, places: list[str], simulator: Simulator) -> Iterator[str]:
    tools = simulator.toolbox.tools
    for place, truth in zip(places, conversation.ground_truth, strict=True):
        if truth.name not in tools:
            yield f"{place}: there is no tool {truth.name}; choose from: {', '.join(tools)}"
            return
        tool = tools[truth.name]
        if (refusal := refused(tool, truth.arguments)) is not None:
            needs = any(name not in truth.arguments for name in truth.rules)
            yield f"{place}: {refusal}{' Give its rule an example.' if needs else ''}"
            return
        if truth.exception is not None and is_refusal(tool, truth.exception):
            yield f"{place}: raises {truth.exception!r}, but the arguments fit; take `raises` out"
            return
    forbidden = {name for turn in conversation.turns for name in turn.forbidden}
    for name in sorted(forbidden - tools.keys()):
        yield f"{path}: {conversation.name}: must_not_call names {name}, which is not a tool"
    for made_call in made_calls(conversation, places, simulator):
        yield from _differences(made_call)


def _differences(made: MadeCall) -> Iterator[str]:
    truth, executed = made.truth, made.executed
    if executed.exception != truth.exception and executed.exception is not None:
        yield f"{made.place}: fails: {executed.exception} (write `raises` where it shall)"
    elif truth.exception is not None and executed.exception is None:
        yield f"{made.place}: should fail with {truth.exception!r}, and does not"
    elif truth.recorded and truth.response != executed.response:
        said = f"returns {reasons.show(executed.response)}, written is {reasons.show(truth.response)}"
        yield f"{made.place}: {said} (take `returns` out and record it again)"


def _of_code(toolbox: Toolbox) -> Iterator[str]:
    """What went wrong in the code of tools, and what it printed, by its place."""
    for tool in toolbox.tools.values():
        if isinstance(tool.function, Function):
            yield from (f"{place}: {said}" for place, said in tool.function.faults.items())
            for place, said in tool.function.printed.items():
                yield f"{place}: {tool.name} printed {said!r}, which nobody sees; return it"
