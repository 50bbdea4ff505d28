"""Write what calls return into your own conversations, and leave everything else there as it is."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml  # type: ignore[import-untyped]

from rig.calls import ExecutedCall, JsonObject
from rig.documents import YAML_ENDINGS, Lines, read
from rig.errors import RigError
from rig.files import read_text, write
from rig.methods.tooltalk.check.own import call_places, made_calls
from rig.methods.tooltalk.conversations import files_of, is_in_tooltalks_shape, load_file
from rig.methods.tooltalk.written import call_parts, conversation_parts, has_outcome, turn_parts
from rig.toolbox.simulator import Simulator
from rig.toolbox.toolbox import Toolbox

_Path = tuple[str | int, ...]


def record_own(place: Path, toolbox: Toolbox) -> list[Path]:
    """Write what each call returns where nothing is written yet; the files that changed. Raises RigError."""
    simulator = Simulator(toolbox.world(), toolbox)
    return [path for path in files_of(place) if _record(path, simulator)]


def _record(path: Path, simulator: Simulator) -> bool:
    conversations = load_file(path)
    places = call_places(path, conversations)
    made = [
        call.executed if call.fits(simulator.toolbox) else None
        for conversation, where in zip(conversations, places, strict=True)
        for call in made_calls(conversation, where, simulator)
    ]
    before = read_text(path)
    if is_in_tooltalks_shape(path):
        after = _in_tooltalks_shape(before, made)
    elif path.suffix in YAML_ENDINGS:
        after = _in_yaml(path, before, made)
    else:
        after = _in_json(path, made)
    if after != before:
        write(after, path, force=True)
    return after != before


def _unrecorded(path: Path, made: list[ExecutedCall | None]) -> list[tuple[int, _Path, ExecutedCall]]:
    """The calls without a recorded outcome: the document's number, the path in it, and the call as made.

    A call that its tool's schema refuses is None, and is to be mended: its refusal is no outcome.
    """
    found = []
    left = iter(made)
    number, lines = -1, Lines()
    for conversation in conversation_parts(path):
        if conversation.lines is not lines:
            number, lines = number + 1, conversation.lines
        for turn in turn_parts(conversation):
            for call in call_parts(turn):
                executed = next(left)
                if executed is not None and not has_outcome(call):
                    found.append((number, call.path, executed))
    return found


def _outcome(executed: ExecutedCall) -> JsonObject:
    if executed.exception is not None:
        return {"raises": executed.exception}
    return {"returns": executed.response}


def _in_tooltalks_shape(text: str, made: list[ExecutedCall | None]) -> str:
    source = json.loads(text)
    left = iter(made)
    for turn in source["conversation"]:
        for call in turn.get("apis", ()):
            executed = next(left)
            if executed is not None and not call.keys() & executed.outcome.as_json().keys():
                call |= executed.outcome.as_json()
    return f"{json.dumps(source, indent=2, ensure_ascii=False)}\n"


def _in_json(path: Path, made: list[ExecutedCall | None]) -> str:
    [document] = read(path)
    todo = _unrecorded(path, made)
    for _, place, executed in todo:
        *above, last = place
        parent = _at(document.value, tuple(above))
        call = parent[last]
        parent[last] = {**({call: {}} if isinstance(call, str) else call), **_outcome(executed)}
    text = json.dumps(document.value, indent=2, ensure_ascii=False)
    return f"{text}\n" if todo else read_text(path)


def _at(value: Any, path: _Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _in_yaml(path: Path, text: str, made: list[ExecutedCall | None]) -> str:
    """The text with a line below each call, from the last to the first, so that places stay what they are."""
    roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    wanted = [document.value for document in read(path)]
    for number, place, executed in reversed(_unrecorded(path, made)):
        *above, last = place
        parent, outcome = _at(wanted[number], tuple(above)), _outcome(executed)
        call = parent[last]
        parent[last] = {**({call: None} if isinstance(call, str) else call), **outcome}
        text = _with_line(text, _node(roots[number], place), outcome)
    _check_same(path, text, wanted)
    return text


def _node(node: Any, path: _Path) -> Any:
    for step in path:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[step]
        else:
            node = next(value for key, value in node.value if key.value == step)
    return node


def _with_line(text: str, node: Any, outcome: JsonObject) -> str:
    ((name, value),) = outcome.items()
    said = f"{name}: {json.dumps(value, ensure_ascii=False)}"
    if isinstance(node, yaml.ScalarNode):
        end = node.end_mark.index
        return f"{text[:end]}:\n{' ' * node.start_mark.column}{said}{text[end:]}"
    if node.flow_style:
        end = node.end_mark.index - 1
        return f"{text[:end].rstrip()}, {said}{text[end:]}"
    end = _end(node)
    line = text.find("\n", end)
    line = len(text) if line < 0 else line
    return f"{text[:line]}\n{' ' * node.start_mark.column}{said}{text[line:]}"


def _end(node: Any) -> int:
    """Where what is written of a value ends, without what white space and remarks follow."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        end: int = node.end_mark.index
        return end - 1 if node.end_mark.column == 0 and end else end
    last = node.value[-1]
    return max(map(_end, last)) if isinstance(last, tuple) else _end(last)


def _check_same(path: Path, text: str, wanted: list[Any]) -> None:
    """Raise RigError where the text has come to mean something else: the file is then left as it is."""
    with TemporaryDirectory(prefix="rig-record-") as folder:
        copy = Path(folder) / f"copy{path.suffix}"
        copy.write_text(text, encoding="utf-8")
        try:
            same = [document.value for document in read(copy)] == wanted
        except RigError:
            same = False
    if not same:
        raise RigError(f"{path}: cannot be added to as it is written; put each call on its own lines")
