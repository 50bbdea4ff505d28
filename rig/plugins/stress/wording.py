"""Dials of wording: other instructions, typing errors, another language, tools in another order."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from rig.core.calls import Json, JsonObject, leaves
from rig.core.errors import RigError
from rig.core.models import ToolDoc
from rig.plugins.stress.dial import Dial, Presentation
from rig.world.toolbox import Toolbox

_WORD = re.compile(r"[^\W\d_]{4,}")
"""The words that may be mistyped; shorter ones could become other words."""


def _typos(task: Presentation, seed: int, level: float, toolbox: Toolbox) -> Presentation:
    """Mistype some words. Each word has a level above which it is mistyped, so lower levels have fewer."""
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
    """Yield the words of the true calls' arguments, which have to reach the model unchanged."""
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
    """Return a tool with its parameters shuffled."""
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
"""The changes of the instructions, which have one rule per line, at all levels except the plain one."""


def _wording(task: Presentation, seed: int, level: str, toolbox: Toolbox) -> Presentation:
    instructs = task.instructs
    return replace(task, instructs=lambda text: WORDINGS[level](instructs(text)))


WORDING = Dial("wording", "plain", _wording)
LANGUAGE = Dial("language", "own", _language)
TYPOS = Dial("typos", 0.0, _typos)
REORDER = Dial("reorder", "none", _reorder)
