"""Whether each ground-truth call is one that its tool takes, written as the dataset writes it."""

from collections.abc import Iterator

from rig import times
from rig.calls import ExecutedCall
from rig.methods.tooltalk.check.faults import Fault
from rig.methods.tooltalk.conversations import Conversation
from rig.toolbox.arguments import check
from rig.toolbox.errors import ToolError
from rig.toolbox.spec import Tool
from rig.toolbox.toolbox import Toolbox


def check_calls(file: str, conversation: Conversation, toolbox: Toolbox) -> Iterator[Fault]:
    """Faults of the requests, by the tools' schemas."""
    positions = conversation.ground_truth_positions()
    for (turn, number), call in zip(positions, conversation.ground_truth, strict=True):
        tool = toolbox.tools.get(call.name)
        if tool is None:
            yield Fault(file, "tool", f"there is no tool {call.name!r}", turn, number)
            continue
        for text in _arguments(tool, call):
            yield Fault(file, "arguments", text, turn, number)
        if call.response is not None and call.exception is not None:
            yield Fault(file, "outcome", "there is a response and an exception", turn, number)
        if call.response is None and call.exception is None:
            yield Fault(
                file, "outcome", "nothing is recorded; `rig check --record DIR` does that", turn, number
            )


def _arguments(tool: Tool, call: ExecutedCall) -> Iterator[str]:
    given = dict(call.arguments)
    for name in tool.injected:
        given.pop(name, None)
    try:
        check(tool, given)
    except ToolError as error:
        yield str(error)
        return
    for name, value in given.items():
        schema = tool.parameters["properties"][name]
        if value is None:
            yield f"{name} is null; leave it out"
        elif (form := times.FORMS.get(schema.get("x-format", ""))) and not _canonical(value, form.pattern):
            yield f"{name} is {value!r}, which is not written as {form.pattern}"


def _canonical(text: str, pattern: str) -> bool:
    try:
        return times.read(text, pattern).strftime(pattern) == text
    except ValueError:
        return False
