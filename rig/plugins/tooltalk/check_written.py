"""Checks of conversations for your own tools: each call can be made, and returns what is written.

What calls return can be written into the files; everything else there stays as it is.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from rig.core.budget import LARGEST_YAML, Budget, parse_json
from rig.core.calls import Call, ExecutedCall, Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text, write
from rig.core.tasks import turn_number
from rig.methods.base import Checked
from rig.plugins.documents.documents import YAML_ENDINGS, Lines, from_json, from_yaml, read
from rig.plugins.documents.formats import misformed
from rig.plugins.matching import reasons, worlds
from rig.plugins.matching.worlds import differences
from rig.plugins.mcp.server_world import Servers
from rig.plugins.mcp.servers import servers_of
from rig.plugins.own_tools.functions import Function
from rig.plugins.tooltalk.check import replayed_calls
from rig.plugins.tooltalk.conversations import Conversation, files_of, is_in_tooltalks_shape, load_file
from rig.plugins.tooltalk.scoring import unmet
from rig.plugins.tooltalk.setup import replay
from rig.plugins.tooltalk.written import call_parts, conversation_parts, turn_parts
from rig.world.schemas import is_refusal, refused
from rig.world.toolbox import Simulator, Toolbox

_Path = tuple[str | int, ...]


def check_own(place: Path, toolbox: Toolbox) -> Checked:
    """Check every conversation of a folder against a toolbox. Raises RigError if there are none."""
    faults: list[str] = []
    calls: list[tuple[str, Call, JsonObject]] = []
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
            of_calls = list(_faults(path, conversation, where, simulator))
            if not of_calls:
                servers = servers_of(toolbox)
                unsteady = list(_differing(conversation, where, simulator, servers)) if servers else []
                otherwise = list(_otherwise(where, conversation, simulator, unsteady))
                of_calls = (otherwise or list(_unmet(path, conversation, simulator))) + unsteady
            faults += of_calls
            truths = zip(where, conversation.ground_truth, strict=True)
            calls += [
                (at, truth.call, toolbox.tools[truth.name].parameters)
                for at, truth in truths
                if truth.name in toolbox.tools
            ]
    faults += _of_code(toolbox)
    return Checked(place, len(seen), tuple(faults), tuple(calls))


def _places(path: Path, conversations: list[Conversation]) -> list[list[str]]:
    """Return the place of every true call in a file, for each conversation."""
    if not is_in_tooltalks_shape(path):
        parts = conversation_parts(path)
        return [[call.place for turn in turn_parts(part) for call in call_parts(turn)] for part in parts]
    return [
        [
            f"{path}: turn {turn_number(conversation, turn)} call {call + 1}"
            for turn, call in conversation.ground_truth_positions()
        ]
        for conversation in conversations
    ]


def _faults(path: Path, conversation: Conversation, places: list[str], simulator: Simulator) -> Iterator[str]:
    """Yield faults of calls that cannot be made: unknown tools, and arguments that do not fit."""
    tools = simulator.toolbox.tools
    for place, truth in zip(places, conversation.ground_truth, strict=True):
        if truth.name not in tools:
            yield f"{place}: there is no tool {truth.name}; choose from: {', '.join(tools)}"
            return
        tool = tools[truth.name]
        # An argument that the schema does not declare may be allowed, and is a misspelling.
        if (refusal := refused(tool, truth.arguments, undeclared=True)) is not None:
            needs = any(name not in truth.arguments for name in truth.rules)
            hint = " Give its rule an example." if needs else ""
            if "must be a string" in refusal and path.suffix in YAML_ENDINGS:
                hint = " Put quotes around it."
            yield f"{place}: {refusal}{hint}"
            return
        for fault in misformed(tool.parameters, truth.arguments):
            yield f"{place}: {fault}"
            return
        if truth.exception is not None and is_refusal(tool, truth.exception):
            yield f"{place}: raises {truth.exception!r}, but the arguments fit; take `raises` out"
            return
    forbidden = {name for turn in conversation.turns for name in turn.forbidden}
    for name in sorted(forbidden - tools.keys()):
        yield f"{path}: {conversation.name}: must_not_call names {name}, which is not a tool"
    expectations = (expectation for turn in conversation.turns for expectation in turn.expected or ())
    for name in sorted({expectation.call.name for expectation in expectations}):
        if name not in tools or tools[name].action:
            what = "changes things" if name in tools else "is not a tool"
            yield f"{path}: {conversation.name}: expect calls {name}, which {what}"
            return


def _otherwise(
    places: list[str], conversation: Conversation, simulator: Simulator, unsteady: list[str]
) -> Iterator[str]:
    """Yield the calls that do not end as written, except those that `unsteady` reports already."""
    for place, call in zip(places, replayed_calls(conversation, simulator), strict=True):
        recorded, executed = call.recorded, call.executed
        if any(line.startswith(f"{place}: answers ") for line in unsteady):
            continue
        if executed.exception != recorded.exception and executed.exception is not None:
            yield f"{place}: fails: {executed.exception} (write `raises` where it shall)"
        elif recorded.exception is not None and executed.exception is None:
            yield f"{place}: should fail with {recorded.exception!r}, and does not"
        elif recorded.recorded:
            for pointer, written, now in _differences(recorded, executed, servers_of(simulator.toolbox)):
                at = "" if pointer == "/" else f", at {pointer}"
                text = f"returns {reasons.show(now)}, written is {reasons.show(written)}{at}"
                yield f"{place}: {text} (take `returns` out and record it again)"


def _unmet(path: Path, conversation: Conversation, simulator: Simulator) -> Iterator[str]:
    """Yield what does not hold at the end of a turn although its true calls were made."""
    for turn in replay(conversation, simulator):
        if not turn.turn.expects_end:
            continue
        # Without calls, the simulator may still be where the turn before was looked at.
        world = simulator.snapshot() if turn.calls else turn.world
        simulator.restore(world)
        number = turn_number(conversation, turn.position)
        for line in unmet(turn.turn.expected, simulator, world):
            yield f"{path}: {conversation.name}, turn {number}: expected is not so: {line}"


def _differing(
    conversation: Conversation, places: list[str], simulator: Simulator, servers: Servers
) -> Iterator[str]:
    """Yield where servers answer differently, or leave different files, when everything is played again in
    another world, whose processes are restarted with each turn.
    """
    again = simulator.twin()
    once, twice = replay(conversation, simulator), replay(conversation, again)
    left = iter(places)
    for first, second in zip(once, twice, strict=True):
        again.world.renew()
        for one, other in zip(first.calls, second.calls, strict=True):
            place, route = next(left), servers.routes[one.name]
            for pointer, was, now in _differences(one, other, servers):
                yield (
                    f"{place}: answers {reasons.show(was)}, then {reasons.show(now)} at {pointer} (for"
                    f' {route.server} in mcp.json: "restart": "replay", if it keeps this in memory, or'
                    f' "volatile": {{"{route.tool}": ["{pointer}"]}}, if it does not matter)'
                )
    for line in worlds.compare(simulator, simulator.snapshot(), again.snapshot()).lines:
        where = places[-1] if places else conversation.name
        yield f'{where}: ends otherwise the second time: {line} ("ignore" in mcp.json leaves files out)'


def _differences(
    one: ExecutedCall, other: ExecutedCall, servers: Servers | None
) -> Iterator[tuple[str, Json, Json]]:
    """Yield where two outcomes of a call differ, except in the parts that its server declares volatile."""
    volatile: tuple[str, ...] = ()
    if servers is not None:
        route = servers.routes[one.name]
        volatile = servers.servers[route.server].volatile.get(route.tool, ())
    for pointer, was, now in differences(one.outcome.as_json(), other.outcome.as_json()):
        pointer = pointer.removeprefix("/response").removeprefix("/exception") or "/"
        if not any(fnmatchcase(pointer, pattern) for pattern in volatile):
            yield pointer, was, now


def _of_code(toolbox: Toolbox) -> Iterator[str]:
    """Yield the faults in the code of tools, and what the code printed, each with its place."""
    for tool in toolbox.tools.values():
        if isinstance(tool.function, Function):
            yield from (f"{place}: {fault}" for place, fault in tool.function.faults.items())
            for place, text in tool.function.printed.items():
                yield f"{place}: {tool.name} printed {text!r}, which nobody sees; return it"


_ERRORS = re.compile(
    r"\W*(error|exception|traceback|fail(ed|ure)|access denied|permission denied|not found|no such|invalid"
    r"|cannot|could not|unable|unauthori[sz]ed|forbidden|unknown|missing|refused|denied|timed? ?out)\b"
    r"|.{0,200}?(access denied|permission denied|not (allowed|permitted)|no such file|\bE(NOENT|ACCES)\b)",
    re.IGNORECASE,
)
_LONGEST_LINE = 100


def record_own(place: Path, toolbox: Toolbox, note: Callable[[str], object]) -> list[Path]:
    """Write the outcome of each call that has none yet; return the files that changed. Raises RigError.

    `note` gets a line on each such outcome, which says so if it is a failure or looks like one.
    """
    simulator = Simulator(toolbox.world(), toolbox)
    return [path for path in files_of(place) if _record(path, simulator, note)]


def _record(path: Path, simulator: Simulator, note: Callable[[str], object]) -> bool:
    executed: list[ExecutedCall | None] = []
    lines: list[str] = []
    for conversation in load_file(path):
        for call in replayed_calls(conversation, simulator):
            tool = simulator.toolbox.tools.get(call.recorded.name)
            # A call that the tool's schema refuses has to be corrected: its refusal is not recorded.
            fits = tool is not None and refused(tool, call.recorded.arguments) is None
            executed.append(call.executed if fits else None)
            if fits and not call.recorded.recorded:
                lines.append(f"{conversation.name}: {_in_short(call.executed)}")
    before = read_text(path)
    after = (_in_tooltalks_shape if is_in_tooltalks_shape(path) else _in_written)(path, before, executed)
    if after != before:
        if path.suffix not in YAML_ENDINGS:
            # As it is read: with less depth than an answer can have, and without NaN.
            from_json(after, str(path))
        write(after, path, force=True)
        for line in lines:
            note(line)
    return after != before


def _in_short(call: ExecutedCall) -> str:
    """Return the first line of what a call gave, marked if it is a failure or looks like one."""
    outcome = call.outcome
    failed = outcome.exception is not None
    value = outcome.exception if failed else outcome.response
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first = next(iter(text.strip().splitlines()), "")
    is_named = isinstance(value, dict) and any(value.get(name) for name in ("error", "errors", "isError"))
    mark = "fails: " if failed else "looks like an error: " if is_named or _ERRORS.match(first) else ""
    return f"{call.call.name}: {mark}{first[:_LONGEST_LINE]}"


def _in_tooltalks_shape(path: Path, text: str, executed: list[ExecutedCall | None]) -> str:
    source = parse_json(text)
    calls = (call for turn in source["conversation"] for call in turn.get("apis", ()))
    for call, now in zip(calls, executed, strict=True):
        if now is not None and not call.keys() & now.outcome.as_json().keys():
            call |= now.outcome.as_json()
    return f"{json.dumps(source, indent=2, ensure_ascii=False)}\n"


def _in_written(path: Path, text: str, executed: list[ExecutedCall | None]) -> str:
    """Return the text with the outcome of each call, added from last to first so that places stay valid.

    YAML gets a line below each call. Raises RigError if the new YAML text means anything else.
    """
    documents = [document.value for document in read(path)]
    is_yaml = path.suffix in YAML_ENDINGS
    roots = list(Budget(str(path)).yaml_nodes(text)) if is_yaml else []
    unrecorded = _unrecorded(path, executed)
    for number, (*above, last), outcome in reversed(unrecorded):
        parent: Any = reduce(lambda value, step: value[step], above, documents[number])
        call = parent[last]
        parent[last] = {**({call: None if is_yaml else {}} if isinstance(call, str) else call), **outcome}
        if is_yaml:
            text = _with_line(text, reduce(_inside, (*above, last), roots[number]), outcome)
    if not is_yaml:
        return f"{json.dumps(documents[0], indent=2, ensure_ascii=False)}\n" if unrecorded else text
    with suppress(RigError):
        again = [document.value for document in from_yaml(text.removeprefix("\ufeff"), path)]
        if again == documents and len(text.encode()) <= LARGEST_YAML:
            return text
    raise RigError(f"{path}: cannot be added to as it is written; put each call on its own lines")


def _unrecorded(path: Path, executed: list[ExecutedCall | None]) -> list[tuple[int, _Path, JsonObject]]:
    """Return the calls without a recorded outcome: the document's number, the path in it, the outcome now."""
    unrecorded = []
    left = iter(executed)
    number, lines = -1, Lines()
    for conversation in conversation_parts(path):
        if conversation.lines is not lines:
            number, lines = number + 1, conversation.lines
        for part in (call for turn in turn_parts(conversation) for call in call_parts(turn)):
            call = next(left)
            is_written = isinstance(part.value, dict) and bool({"returns", "raises"} & part.value.keys())
            if call is not None and not is_written:
                failed = call.exception is not None
                outcome = {"raises": call.exception} if failed else {"returns": call.response}
                unrecorded.append((number, part.path, outcome))
    return unrecorded


def _inside(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return node.value[step]
    return next(value for key, value in node.value if key.value == step)


def _with_line(text: str, node: Any, outcome: JsonObject) -> str:
    ((name, value),) = outcome.items()
    words = f"{name}: {json.dumps(value, ensure_ascii=False)}"
    if isinstance(node, yaml.ScalarNode):
        end = node.end_mark.index
        return f"{text[:end]}:\n{' ' * node.start_mark.column}{words}{text[end:]}"
    if node.flow_style:
        end = node.end_mark.index - 1
        return f"{text[:end].rstrip()}, {words}{text[end:]}"
    end_of_line = text.find("\n", _end(node))
    line = len(text) if end_of_line < 0 else end_of_line
    return f"{text[:line]}\n{' ' * node.start_mark.column}{words}{text[line:]}"


def _end(node: Any) -> int:
    """Return where the text of a value ends, without the white space and comments after it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        end: int = node.end_mark.index
        return end - 1 if node.end_mark.column == 0 and end else end
    last = node.value[-1]
    return max(map(_end, last)) if isinstance(last, tuple) else _end(last)
