"""Distractors: tools that a task does not need, taken from ToolTalk and rig's own `distractors.json`.

The tools nearest to the task's toolbox come first, by the words of names and descriptions. No model decides
this, so a level is the same on every machine. All tasks of a level are offered the same distractors, behind
their own tools. A call of one is answered without changing the task's world, and is an incorrect action if
the tool acts.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from rig.core.calls import Json
from rig.core.errors import RigError
from rig.plugins.own_tools.listing import read_listing
from rig.plugins.stress.dial import Dial, Presentation
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.spec import Match, Tool
from rig.world.toolbox import Toolbox

BANK = Path(__file__).parent / "distractors.json"

_WORD = re.compile(r"[A-Z]?[a-z]{3,}")


def _answer(answer: Json, _world: object, **_arguments: Json) -> Json:
    return answer


@lru_cache(maxsize=1)
def _bank() -> tuple[Tool, ...]:
    """Return the tools of the bank, then ToolTalk's without its world. Actions just answer "done"."""
    listed = (
        Tool(tool.name, "", tool.description, tool.parameters, tool.returns, tool.action, Match(), _answer)
        for tool in read_listing(BANK).tools
    )
    others = (
        replace(tool, injected=(), login=None, amends=None, match=Match()) for tool in TOOLTALK.tools.values()
    )
    return tuple(
        replace(tool, function=partial(_answer, {"status": "done"} if tool.action else {"results": []}))
        for tool in (*listed, *others)
    )


def _words(tool: Tool) -> set[str]:
    texts = (tool.name.replace("_", " "), tool.description)
    return {word.casefold() for text in texts for word in _WORD.findall(text)}


@lru_cache(maxsize=64)
def nearest(toolbox: Toolbox, number: int) -> Toolbox:
    """Return this many distractors for a toolbox: those that share the rarest words with one of its tools.

    Raises RigError if there are too few.
    """
    tools = [tool for tool in _bank() if tool.name not in toolbox.tools]
    if number > len(tools):
        raise RigError(f"--distractors {number}: there are {len(tools)} beside the tools of {toolbox.name}")
    words = {tool.name: _words(tool) for tool in (*tools, *toolbox.tools.values())}
    often = Counter(word for of_tool in words.values() for word in of_tool)

    def weight(shared: Iterable[str]) -> float:
        return sum(1 / often[word] for word in shared)

    def nearness(tool: Tool) -> float:
        own = words[tool.name]
        return max(
            weight(sorted(own & words[name])) / weight(sorted(own | words[name])) for name in toolbox.tools
        )

    return Toolbox("distractors", sorted(tools, key=lambda tool: (-nearness(tool), tool.name))[:number])


def _apply(task: Presentation, seed: int, level: int, toolbox: Toolbox) -> Presentation:
    chosen = nearest(toolbox, level)
    docs = chosen.docs(descriptions=any(tool.description for tool in task.tools))
    return replace(task, tools=(*task.tools, *docs), distractors=chosen)


DISTRACTORS = Dial("distractors", 0, _apply)
