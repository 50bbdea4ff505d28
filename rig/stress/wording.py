"""What is said is said otherwise: with typing errors, in another language, with tools in another order."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.models import ToolDoc
from rig.scoring.seen import leaves
from rig.stress.dial import Dial, Presentation
from rig.toolbox.toolbox import Toolbox

_WORD = re.compile(r"[^\W\d_]{4,}")
"""What may be mistyped; shorter words would become others."""


def _typos(task: Presentation, seed: int, level: float, toolbox: Toolbox) -> Presentation:
    """Each word is mistyped at all levels above one of its own: a lower level has fewer of the same."""
    values = frozenset(_values(task.task))

    def hears(line: str) -> str:
        text = task.hears(line)

        def mistyped(match: re.Match[str]) -> str:
            word = match[0]
            random = Random(f"{seed}/{task.task.name!r}/{text!r}/{match.start()}")
            is_name = word[0].isupper() and match.start() > 0
            if random.random() >= level or is_name or word.casefold() in values:
                return word
            place = random.randrange(1, len(word) - 1)
            left, here, right = word[:place], word[place], word[place + 1 :]
            return left + random.choice((right, here + here + right, right[0] + here + right[1:]))

        return _WORD.sub(mistyped, text)

    return replace(task, hears=hears)


def _values(task: Any) -> Iterator[str]:
    """The words of all that a true call has in it, which have to reach the model as they are."""
    calls = (call for turn in task.known_turns for call in task.expected(turn).calls)
    for call in calls:
        for leaf in leaves(call.arguments):
            yield from _WORD.findall(str(leaf).casefold())


def _language(task: Presentation, seed: int, level: str, toolbox: Toolbox) -> Presentation:
    lines = getattr(task.task, "translations", {})
    if level not in lines:
        there_are = ", ".join(sorted(lines)) or "none"
        raise RigError(
            f"{task.task.name}: its user's lines are not there in --language {level}; there are: {there_are}"
        )
    hears = task.hears
    return replace(task, hears=lambda line: hears(lines[level].get(line, line)))


def _reorder(task: Presentation, seed: int, level: str, toolbox: Toolbox) -> Presentation:
    tools = list(task.tools)
    if level != "arguments":
        Random(f"tools {seed}").shuffle(tools)
    if level != "tools":
        tools = [_shuffled(tool, Random(f"{tool.name} {seed}")) for tool in tools]
    return replace(task, tools=tuple(tools))


def _shuffled(tool: ToolDoc, random: Random) -> ToolDoc:
    """A tool with its parameters in another order."""
    properties: dict[str, Json] = tool.parameters["properties"]
    names = random.sample(list(properties), len(properties))
    parameters: JsonObject = {**tool.parameters, "properties": {name: properties[name] for name in names}}
    return replace(tool, parameters=parameters)


def _lines(text: str, mark: Callable[[int], str]) -> str:
    return "\n".join(f"{mark(number)}{line}" for number, line in enumerate(text.splitlines(), 1))


def _reversed(text: str) -> str:
    first, *others = text.splitlines()
    return "\n".join([first, *reversed(others)])


WORDINGS: Mapping[str, Callable[[str], str]] = {
    "polite": lambda text: f"Please read these instructions with care.\n{text}\nThank you.",
    "bullets": lambda text: _lines(text, lambda number: "- "),
    "numbered": lambda text: _lines(text, lambda number: f"{number}. "),
    "headed": lambda text: f"# Instructions\n\n{text}",
    "tags": lambda text: f"<instructions>\n{text}\n</instructions>",
    "reversed": _reversed,
    "capitals": str.upper,
}
"""What becomes of the instructions, which have a rule on each line, at each level but the plain one."""


def _wording(task: Presentation, seed: int, level: str, toolbox: Toolbox) -> Presentation:
    instructs = task.instructs
    return replace(task, instructs=lambda text: WORDINGS[level](instructs(text)))


WORDING = Dial("wording", "plain", _wording)
LANGUAGE = Dial("language", "own", _language)
TYPOS = Dial("typos", 0.0, _typos)
REORDER = Dial("reorder", "none", _reorder)
