"""Conversations for your own tools: whether each call can be made, and returns what is written."""

from collections.abc import Iterator
from pathlib import Path

from rig.errors import RigError
from rig.methods.checking import Checked
from rig.methods.tooltalk.check.replay import replayed_calls
from rig.methods.tooltalk.conversations import Conversation, files_of, is_in_tooltalks_shape, load_file
from rig.methods.tooltalk.written import call_parts, conversation_parts, turn_parts
from rig.scoring import reasons
from rig.tasks import turn_number
from rig.toolbox.arguments import is_refusal, refused
from rig.toolbox.own.functions import Function
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox


def check_own(place: Path, toolbox: Toolbox) -> Checked:
    """Check every conversation of a folder against its tools. Raises RigError if there are none."""
    faults: list[str] = []
    seen: dict[str, Path] = {}
    simulator = Simulator(toolbox.world(), toolbox)
    for path in files_of(place):
        try:
            conversations = load_file(path)
            places = _places(path, conversations)
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


def _places(path: Path, conversations: list[Conversation]) -> list[list[str]]:
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
    for place, call in zip(places, replayed_calls(conversation, simulator), strict=True):
        recorded, executed = call.recorded, call.executed
        if executed.exception != recorded.exception and executed.exception is not None:
            yield f"{place}: fails: {executed.exception} (write `raises` where it shall)"
        elif recorded.exception is not None and executed.exception is None:
            yield f"{place}: should fail with {recorded.exception!r}, and does not"
        elif recorded.recorded and recorded.response != executed.response:
            returned, written = reasons.show(executed.response), reasons.show(recorded.response)
            text = f"returns {returned}, written is {written}"
            yield f"{place}: {text} (take `returns` out and record it again)"


def _of_code(toolbox: Toolbox) -> Iterator[str]:
    """What went wrong in the code of tools, and what it printed, by its place."""
    for tool in toolbox.tools.values():
        if isinstance(tool.function, Function):
            yield from (f"{place}: {fault}" for place, fault in tool.function.faults.items())
            for place, text in tool.function.printed.items():
                yield f"{place}: {tool.name} printed {text!r}, which nobody sees; return it"
